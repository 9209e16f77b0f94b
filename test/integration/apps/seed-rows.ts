/** Rows of the list of acceptance for apps, and the tests that show them. For docs/apps.md. */
import type { SeedRow } from '../tenants/seed-rows.ts'

const unit = (name: string) => `src/apps/${name}.test.ts`
const policy = (name: string) => `src/gateway/policy/${name}.test.ts`
const access = (name: string) => `src/gateway/access/${name}.test.ts`
const life = 'test/integration/apps/life.test.ts'
const definition = 'test/integration/apps/definition.test.ts'
const service = 'src/appcontrol/service.test.ts'
const creator = 'src/appcontrol/creator.test.ts'
const templates = 'test/integration/apps/templates.test.ts'
const templateDefinition = 'test/integration/apps/template-definition.test.ts'
const gateway = (name: string) => `test/integration/gateway/${name}.test.ts`
const wholeSeed = [
  unit('render'),
  'renders the application of the seed in a group with a volume to the last field',
] as const

export const appRows: readonly SeedRow[] = [
  {
    id: 'A-01',
    what: "Each app is at `/console/apps/<id>` of the platform's own domain",
    tests: [
      [gateway('server'), 'leads from the app to the form, and back with a cookie that opens the app at each replica'],
      [
        gateway('hosts'),
        'leads over the login at the platform to a session at the host of the app, which holds at each replica',
      ],
    ],
    departs: 'with `appDomain` the same path is at a host of the app’s own: [gateway-hosts.md](gateway-hosts.md)',
  },
  {
    id: 'A-02',
    what: 'The scope is `group`, `primehub` or `public`, for the web interface alone',
    tests: [
      [gateway('access'), 'verdict lets in whom the audience names, and says unknown to those who are logged in'],
      [access('cuts'), 'cuts those whom nobody asked for when the app is public no more'],
    ],
  },
  {
    id: 'A-03',
    what: "Data are kept in the group's volume; data volumes can be read",
    tests: [wholeSeed],
    departs: 'the configuration names the claims of a group',
  },
  {
    id: 'A-04',
    what: "The group's quota of processors, memory and GPUs holds; who is beyond it reads so",
    tests: [
      [life, 'an app beyond the quota of its group says so, and runs when there is room'],
      [
        'test/integration/apps/shares.test.ts',
        'of apps that are made at once, a group gets those for which it has room, and another group is not affected',
      ],
      [unit('shares'), 'counts GPUs, also where only a limit names them'],
    ],
  },
  {
    id: 'A-05',
    what: 'An app is of a group, which can have several of a kind',
    tests: [
      [unit('spec'), 'gives nothing to the app of another group, or where there is none'],
      [creator, 'is refused for a group of which the caller is no member, before anything is told of it'],
    ],
  },
  {
    id: 'A-06',
    what: 'A template has the pod, the ports, the port of the web interface, and variables that people fill in',
    tests: [
      [unit('template'), 'templateOf reads the template of the seed'],
      [templateDefinition, 'what a template can make is what an app can be, word for word'],
    ],
  },
  {
    id: 'A-07',
    what: 'Creation: template, variables, instance type, scope; an empty variable that is not optional is refused',
    tests: [
      [templates, 'the template of the seed becomes the application of the seed, which runs'],
      [
        'src/api/apps/graphql-handlers.test.ts',
        'create: the templates are listed, one is chosen, and its app is the application of the seed',
      ],
      [creator, 'refuses an empty value of a variable that is not optional, and takes one of a variable that is'],
    ],
  },
  {
    id: 'A-08',
    what: 'Five variables that values can contain',
    tests: [wholeSeed, [unit('render'), 'replaces no variable in the values of presets']],
  },
  {
    id: 'A-09',
    what: "They come before the app's own",
    tests: [[unit('render'), 'keeps the presets before all others, and drops variables that would replace them']],
  },
  {
    id: 'A-10',
    what: 'Pods of the group reach `app-<id>:<port>` in the cluster, and others do not',
    tests: [
      wholeSeed,
      [unit('render'), 'lets no gateway in when the app has no web interface'],
      [unit('render'), 'lets in labs of the installation whose users are in the group, only with apps.labs'],
      [
        'test/integration/network-policy.node.test.ts',
        'a lab’s policy allows its connections and refuses all others; without it all connections work',
      ],
    ],
    departs: 'labs too, where the operator opens the way; there is no login on it',
  },
  {
    id: 'A-11',
    what: 'Start, stop, information, log, delete',
    tests: [
      [service, 'writes the wish, tells the reconciler, and shows the new version at once'],
      [service, 'shows an app with the version of its spec'],
      [service, 'deletes the app of this UID, and no namesake that came meanwhile'],
      ['src/appcontrol/logs.test.ts', 'opens the log of the first container for members and administrators'],
    ],
  },
  {
    id: 'A-12',
    what: 'The resource PhApplication, with the fields of the example',
    tests: [
      [definition, 'the API server keeps the application of the seed as it is printed, but its status'],
      ['dev/apps/objects.test.ts', 'mlflow-xyzab.yaml is the example of the seed, word for word'],
    ],
  },
  {
    id: 'A-13',
    what: 'Two annotations with the template, and with what was filled in',
    tests: [
      [
        'src/appcontrol/env.test.ts',
        'follows in the annotation with the wish by which the app was made, without secrets',
      ],
      [creator, 'keeps the template and what was filled in as annotations'],
    ],
    departs: 'secret values are masked there, and are in a Secret of the app',
  },
  {
    id: 'A-14',
    what: '`status` has phase, message and the name of the Service',
    tests: [[unit('status'), 'tells phase, name, address and conditions of an app that is ready']],
    departs: 'it has `url`, `observedGeneration` and conditions too',
  },
  {
    id: 'A-15',
    what: 'An app needs no template, and its controller reads none',
    tests: [
      [unit('spec'), 'reads the application of the seed'],
      [unit('kind'), 'the kind app watches no template'],
      [templates, 'the end of a template changes no app'],
    ],
  },
  {
    id: 'A-16',
    what: 'The resource PhAppTemplate, with the fields of the example',
    tests: [[templateDefinition, 'the API server keeps the template of the seed as it is printed']],
    departs: '`icon` must be an address or data:image, `docLink` an address',
  },
  {
    id: 'A-17',
    what: 'Creation reads the template, appends the variables, sets the scope, and writes both annotations',
    tests: [
      [creator, 'makes the application of the seed of the template of the seed'],
      [creator, 'keeps the template and what was filled in as annotations'],
    ],
  },
  {
    id: 'A-18',
    what: 'Variables, scope and instance type can be changed; id and group cannot',
    tests: [
      ['src/appcontrol/env.test.ts', 'replaces all variables of the first container, and touches no other one'],
      ['src/appcontrol/env.test.ts', 'leaves the variables of the template before them'],
      [definition, 'the API server refuses another group for an app that stands, and accepts another scope'],
      [
        'src/api/apps/graphql-handlers.test.ts',
        'update: variables, scope and instance type change, and variables do not pile up',
      ],
    ],
    departs: '`displayName` too',
  },
  {
    id: 'A-19',
    what: 'Pods of an app, with the address of the log of each',
    tests: [['src/api/apps/graphql-handlers.test.ts', 'log: each pod has the address of its log']],
    departs: 'they are found by their owner, and not by a label that anybody may write',
  },
  {
    id: 'A-20',
    what: 'The app owns a Deployment, a Service and NetworkPolicies',
    tests: [wholeSeed],
  },
  {
    id: 'A-21',
    what: 'The volumes of the group; without them a folder of 5 GiB',
    tests: [
      [
        unit('render'),
        'has a folder that ends with the pod when the group has no volume, or one that it can only read',
      ],
    ],
  },
  {
    id: 'A-22',
    what: 'An init container makes the folder, as root',
    tests: [
      wholeSeed,
      [
        'test/integration/apps/rendered.test.ts',
        'Pod Security restricted admits the pod of an app when apps.initAsRoot is false, and no other',
      ],
    ],
    departs: 'by the group of files where `apps.initAsRoot` is false',
  },
  {
    id: 'A-23',
    what: 'The first container alone, with the resources of the instance type',
    tests: [
      [unit('allow-list'), 'leaves out all containers but the first, and all of a Service but its ports'],
      [unit('render'), 'gives the resources, nodes and tolerations of the instance type'],
    ],
  },
  {
    id: 'A-24',
    what: 'Three labels of a pod, one with the name of the group, escaped',
    tests: [
      wholeSeed,
      [unit('names'), 'groupLabel gives the value of a label, which groupOfLabel reads where it is not a hash'],
    ],
    departs: 'a name that is too long for a label is a hash there',
  },
  {
    id: 'A-25',
    what: 'The Service is that of the template',
    tests: [[unit('allow-list'), 'leaves out all containers but the first, and all of a Service but its ports']],
    departs: 'of it the ports alone',
  },
  {
    id: 'A-26',
    what: 'NetworkPolicies admit pods of the group, and the proxy',
    tests: [
      [unit('render'), 'puts policies before the Service, and that before pods'],
      [unit('render'), 'lets no gateway in when the app has no web interface'],
    ],
  },
  {
    id: 'A-27',
    what: 'Six phases, by the status of the Deployment',
    tests: [
      [unit('phase'), 'is total, depends on nothing else, and is never Ready of what does not run whole'],
      [unit('phase'), 'tells a crash at once, and forgets it when the pod is ready'],
    ],
    departs: 'of the present generation alone; `Ready` asks for a pod that is up to date too',
  },
  {
    id: 'A-28',
    what: 'The proxy finds the app by the path, and asks for a member of the group',
    tests: [
      [policy('target'), 'reads only apps that every reader of URLs finds at the same place'],
      [gateway('access'), 'verdict lets in whom the audience names, and says unknown to those who are logged in'],
    ],
  },
  {
    id: 'A-29',
    what: 'A session of 30 minutes, which use extends, by the cookie `phapplication-session-id` below the path of the app',
    tests: [
      [gateway('access'), 'a login gets a session of the app, which holds at every gateway'],
      [access('uses'), 'extends each session that was used once a minute, and others not'],
      [policy('cookies'), 'are for one path each, and no script reads them'],
    ],
  },
  {
    id: 'A-30',
    what: 'Who has a session is let in without a question to the source of identities',
    tests: [
      [gateway('access'), 'requests within five seconds ask Redis once'],
      [gateway('oidc'), 'a thousand requests of a login at both replicas ask the issuer once'],
    ],
    departs: 'once a minute, for a login that is used, so that who leaves a group is out',
  },
  {
    id: 'A-31',
    what: 'The log of a pod at `GET /api/logs/pods/<pod>`, for members of the group that its label names',
    tests: [
      ['src/api/apps/log-routes.test.ts', 'sends the log as text, which no browser takes for a page'],
      ['src/appcontrol/logs.test.ts', 'finds no pod where one %s'],
      [templates, 'a log is shown of pods that an app owns by UIDs, to members of its group'],
    ],
    departs: 'the pod must belong to an app of that group too, by its owners',
  },
  {
    id: 'A-40',
    what: 'A WebSocket is judged as a request is',
    tests: [
      [gateway('server'), 'a WebSocket of a member is carried both ways'],
      [policy('head'), 'refuses other methods and HTTP/1.0'],
    ],
  },
  {
    id: 'A-41',
    what: 'A session is of one app and one login, holds at each gateway, and ends with the membership, also what is open',
    tests: [
      [gateway('access'), 'a session of another app, of a namesake that is gone, or of another login lets nobody in'],
      [gateway('cuts'), 'of a change of the members'],
    ],
  },
  {
    id: 'A-42',
    what: 'Scope, stop and delete are in force everywhere within a second',
    tests: [
      [gateway('cuts'), 'what is open is cut within a second'],
      [access('access'), 'obeys tables at once, whatever it knows of the session'],
    ],
  },
  {
    id: 'A-43',
    what: 'No cookie and no token of the platform reaches an app; its cookies stay below its path; forwarded headers are ours',
    tests: [
      [
        'test/integration/gateway/hostile.test.ts',
        'a hostile app takes no cookie of the platform, plants none at its neighbour, and watches nothing of it',
      ],
      [policy('to-app'), 'lets no forged header through, whatever stands beside it'],
      [policy('to-app'), 'drops our cookies from each Cookie header'],
      [policy('from-app'), 'confines each cookie to the app'],
    ],
  },
  {
    id: 'A-44',
    what: 'No spelling of a path leads to another app; `rewrite` cuts the prefix off',
    tests: [
      [policy('target'), 'reads only apps that every reader of URLs finds at the same place'],
      [policy('target'), 'cuts the prefix of %s off only when the app wants that'],
      [gateway('rewrite'), 'sees paths without the prefix, and is told the prefix'],
    ],
  },
  {
    id: 'A-45',
    what: 'Variables `PRIMEHUB_*` of an app are refused',
    tests: [[unit('render'), 'keeps the presets before all others, and drops variables that would replace them']],
  },
  {
    id: 'A-46',
    what: 'No app gets a node, an account or the network of another group, whoever writes it',
    tests: [
      [unit('render-any'), 'whatever an app says, it gets no right, and what stands of it is at rest'],
      [unit('spec'), 'gives nothing to the app of another group, or where there is none'],
      [unit('phase'), 'isPodOf believes no label, but the ReplicaSet'],
      ['src/appcontrol/logs.test.ts', 'passes nothing on when another pod got the name meanwhile'],
    ],
  },
  {
    id: 'A-47',
    what: 'Streams and uploads without a buffer; a page with phase and message, and a button to start',
    tests: [
      ['src/gateway/flow.test.ts', 'stops the client when the app does not read'],
      [
        'src/gateway/upload.test.ts',
        'sends its head before the body, takes the rest after an early answer, and serves the next',
      ],
      [policy('pages'), 'offers a start when the app is stopped and the visitor may start it'],
      [life, 'a stopped app starts when a member asks for it, once and only as he saw it'],
    ],
  },
  {
    id: 'A-48',
    what: 'Events of an app, as those of labs',
    tests: [
      ['src/appcontrol/teller.test.ts', 'AppTeller tells what the cluster says of pods once, as labs do'],
      ['src/appcontrol/teller.test.ts', 'AppTeller tells phases as the watch shows them, with the version of the app'],
    ],
  },
  {
    id: 'A-49',
    what: 'One generation of the Deployment for each change, whoever writes at once',
    tests: [[life, 'an app runs, changes, stops and starts, with one generation of its Deployment for each change']],
  },
]
