/** Rows of the list of acceptance, and the tests that show them. For docs/dispatch-rows.md. */
import type { SeedRow } from '../tenants/seed-rows.ts'

const of = (folder: string) => (name: string) => `${folder}/${name}.test.ts`
const unit = of('src/dispatch')
const machines = of('src/machines')
const pool = of('src/pool')
const runner = of('src/runner')
const tunnel = of('src/tunnel')
const ssh = of('src/ssh')
const ec2 = of('src/clouds/ec2')
const store = of('test/integration/store')
const fleet = of('test/integration/dispatch')
const contract = 'src/clouds/testing/contract.ts'
const attacks = (name: string) => `test/integration/faults/dispatch/${name}.ts`

export const dispatchRows: readonly SeedRow[] = [
  {
    id: 'D-01',
    what: 'The queue is looked at from time to time, and any change begins a pass',
    tests: [
      [pool('scheduler'), 'runs a pass each PollInterval'],
      [pool('scheduler'), 'runs one pass for all rings of a moment, and none for those of labs'],
    ],
    departs: 'the queue is ours, in Redis, and rings: no other server is polled',
  },
  {
    id: 'D-02',
    what: 'A pass gives the first containers to idle machines, asks for new ones, and ends those that are idle too long',
    tests: [
      [unit('decide'), 'an idle machine before one that boots, and that before a new one'],
      [unit('properties'), 'decide leaves no machine idle beyond its time, nor one that boots beyond its time'],
      [
        fleet('first-container'),
        'a container runs on a machine that is made for it, and the machine ends when it is idle',
      ],
    ],
  },
  {
    id: 'D-03',
    what: 'One container at a time on a machine, or as many as a setting lets share it, where it has room for them',
    tests: [
      [unit('alone'), 'decide is what it was before machines could be shared, where they are not'],
      [
        unit('shared-properties'),
        'decide gives no machine more than it has room for, nor more containers than may share one',
      ],
      [unit('shared'), 'fills the machine that has the least left, so that others become empty'],
      [store('dispatch-shared'), 'a container takes a place from its assignment on, whatever was read'],
      [store('dispatch-shared'), 'the end of a machine frees all of its containers, each by its own attempts'],
      [
        fleet('shared-machine'),
        'three containers share a machine, and go on in the same processes when the replica that keeps it is killed',
      ],
      [attacks('places'), 'dispatch V1 places of a machine'],
    ],
    departs: 'the default is 1, where that of Arvados is 0; at most 10 share one, and all of one tenant',
  },
  {
    id: 'D-04',
    what: 'The cheapest type that fits, and dearer ones up to a factor; without any, the container fails with all named',
    tests: [
      [unit('fits'), 'orders by price, then by the larger one, then by name'],
      [unit('fits'), 'offers dearer types only up to the price factor'],
      [unit('fits'), 'counts 95 % of the memory, beside what every machine needs for itself'],
      [unit('fits'), 'names every type and all that it lacks when none fits'],
    ],
    departs: 'REST refuses a container that no type fits, by 422, before it waits',
  },
  {
    id: 'D-05',
    what: 'Order by priority and age, states, attempts; priority 0 stops',
    tests: [
      [unit('properties'), 'inTurn orders by priority, then age, then uuid, whatever the numbers are'],
      [store('dispatch-containers'), 'a priority decides the place in the group, and 0 leaves it'],
      [store('dispatch-keeping'), 'a run that did not begin is sent again as often as allowed, in its former place'],
      [store('dispatch-keeping'), 'when a machine is gone, what it ran is queued again, and what was assigned is too'],
    ],
    departs:
      'a container whose machine is lost is queued again up to `container_count_max`, since there is no request above it that would retry',
  },
  {
    id: 'D-06',
    what: 'Tags of a machine: set, type, behavior, secret; the set never tells the token',
    tests: [
      [unit('tags'), 'has the id of the present token first, and tells nothing of tokens'],
      [contract, 'create makes a machine of the intent, which comes to run at an address'],
    ],
    departs: 'two tags more, for the intent and the host key; `TagSecret: hmac` keeps the secret out of its tag',
  },
  {
    id: 'D-07',
    what: 'Resources before a machine are made first, and carry its tags',
    tests: [
      [contract, 'prepare makes one resource of an intent, which is an orphan until a machine has it'],
      [ec2('interfaces'), 'orphans are interfaces of our set, of all pages, which no machine has'],
    ],
    departs: 'shown by network interfaces of EC2; there is no driver for Azure',
  },
  {
    id: 'D-08',
    what: 'A rate limit pauses creations, and idle machines end until one succeeds',
    tests: [
      [unit('throttle'), 'afterCreate waits as long as the cloud asks, and hurries until a creation succeeds'],
      [unit('decide'), 'unused idle machines at once while the cloud refuses'],
      [ec2('driver'), 'waits grow for creations and for other calls apart'],
    ],
  },
  {
    id: 'D-09',
    what: 'A quota ends idle machines at once, and holds until there are fewer; a type without capacity pauses',
    tests: [
      [unit('throttle'), 'quotaOf holds until a group has fewer machines, or for a minute when it has none'],
      [unit('throttle'), 'afterCreate pauses a type longer with each failure, and forgets that when one is created'],
      [unit('decide'), 'a dearer type while the cloud has none of the cheapest'],
    ],
    departs: 'a type that fails again pauses longer, up to 16 minutes',
  },
  {
    id: 'D-10',
    what: 'Only machines of our set are touched',
    tests: [
      [contract, 'destroy and setTags leave machines of others as they are'],
      [ec2('driver'), '%s sends nothing when the tags, read right before, lack our set'],
      [pool('sweep'), 'leaves a machine alone when somebody took the tag of our set away, and reports it'],
    ],
  },
  {
    id: 'D-11',
    what: 'A restart interrupts nothing: machines are found by their tags, and asked what they run',
    tests: [
      [fleet('takeover'), 'a container goes on in the same process when the replica that keeps its machine is killed'],
      [pool('compare'), 'adopts what no record knows, has all machines asked, and floors the counter by their tags'],
      [store('dispatch-adoption'), 'what a machine runs is written by its warrant, and the counters are above it'],
    ],
    departs: 'no lock of a dead process expires: a container changes hands by proof alone',
  },
  {
    id: 'D-12',
    what: 'A boot probe until it succeeds or TimeoutBooting; then the runner, and its list before the machine is idle',
    tests: [
      [machines('keeper'), 'a machine that boots is asked nothing before its probe succeeds'],
      [unit('decide'), 'machines that do not come up, or that answer no more'],
      [machines('keeper'), 'nothing of a machine is told before what it runs is in the records'],
    ],
  },
  {
    id: 'D-13',
    what: 'The runner is the program itself, copied to the machine unless this version is there',
    tests: [
      [ssh('install'), 'puts the program there, and skips it when it stands there whole'],
      [ssh('install'), 'is this very Node and the runner by default, and starts on a machine'],
      [fleet('ec2'), 'a container runs by the program that its machine got over SSH'],
    ],
    departs: 'two files, Node and the runner of this version, under one hash',
  },
  {
    id: 'D-14',
    what: 'The boot probe asks systemd, or is a command of the configuration',
    tests: [
      [ssh('channel'), 'asks systemd by default'],
      [ssh('channel'), 'is ready when its command succeeds, and says why not'],
      [fleet('vm'), 'a container runs to its end on a machine whose systemd has started everything'],
    ],
  },
  {
    id: 'D-15',
    what: 'Idle machines end after TimeoutIdle, drained ones at once, held ones never',
    tests: [
      [unit('decide'), 'idle machines after their time, drained, broken and unknown ones at once, and none on hold'],
      [store('dispatch-scheduling'), 'a machine on hold is neither given away nor ended, whatever was read'],
      [fleet('takeover'), 'a machine on hold stays, gets nothing, and ends when the operator kills it'],
    ],
  },
  {
    id: 'D-16',
    what: 'The behavior is a tag, and comes back from it; a machine of an unknown type is drained',
    tests: [
      [pool('sweep'), 'sets tags again when somebody changed them'],
      [unit('decide'), 'idle machines after their time, drained, broken and unknown ones at once, and none on hold'],
      [store('dispatch-adoption'), 'a compare adopts a machine under the name of its tag, and floors the ops'],
    ],
  },
  {
    id: 'D-17',
    what: 'The management API, with paths, statuses and fields of Arvados',
    tests: [
      ['src/api/dispatch/management.test.ts', 'is whoever has the token: 401 without one, 403 with another one'],
      ['src/api/dispatch/management.test.ts', 'has the fields of Arvados'],
      [store('dispatch-rest'), 'is shown to operators with its machine, which they hold and end'],
    ],
    departs: 'errors have the form of all our APIs; `hold`, `drain` and `run` answer 202 where the tag follows',
  },
  {
    id: 'D-18',
    what: 'One SSH connection for each machine, made again when it ends',
    tests: [
      [ssh('channel'), 'runs many commands at once over one connection'],
      [machines('keeper'), 'a channel that breaks amid a start is made again, and the run is the same'],
      [ssh('channel'), 'a machine that says nothing any more is unreachable after two questions'],
    ],
  },
  {
    id: 'D-19',
    what: 'A secret of each machine, put there by its first start and asked for before anything is sent',
    tests: [
      [ssh('connect'), 'sends only login and question when it answers %s'],
      [ssh('connect'), 'resolves with the host key when the machine has the secret'],
      [unit('tags'), 'knows a machine that was made under a token before'],
    ],
    departs: 'it is asked for at every connection, not at the first one alone',
  },
  {
    id: 'D-20',
    what: 'Probes, lists, kills by signals, a machine without answers ends, and the end is asked for until it is there',
    tests: [
      [machines('keeper'), 'a container is killed again and again, and its machine ends when it does not end'],
      [machines('kind'), 'a machine is destroyed again when the cloud still shows it'],
      [runner('supervise'), 'is listed and killed by humans'],
      [runner('supervise'), 'kills children that ignore SIGTERM, in sessions of their own too, %s control groups'],
    ],
    departs:
      'the runner pushes beats that count as probes, so `MaxProbesPerSecond` is not needed; a supervisor kills with SIGKILL itself',
  },
  {
    id: 'D-21',
    what: 'Limits: calls of the cloud, creations at once, machines, supervisors, containers',
    tests: [
      [
        store('dispatch-scheduling'),
        'calls of the cloud are spaced over all replicas, and refused beyond what one may wait',
      ],
      [unit('properties'), 'decide creates no machine above any limit'],
      [unit('containers-limit'), 'begins with the estimate, and without one it has no end'],
      [unit('decide'), 'nothing that waits: priority 0, supervisors above their share, an unknown shape'],
    ],
  },
  {
    id: 'D-22',
    what: 'A gateway of each container, by TLS, at a port that its record names',
    tests: [
      [runner('tunnel/tunnel'), 'is told with its port and its pin, again in each list, and its key never'],
      [
        fleet('tunnel-on-ec2'),
        'every replica reaches a port of a container, and gives a shell in it, on its own machine',
      ],
      [fleet('tunnel'), 'a port is reached again when the data of Redis were lost'],
    ],
  },
  {
    id: 'D-23',
    what: 'Shell, TCP and HTTP from a client to a container',
    tests: [
      [
        fleet('tunnel'),
        'runs a command in the container by the system’s ssh, with its output, its input and its exit code',
      ],
      [fleet('tunnel'), 'carries a port of the container by TCP'],
      [fleet('tunnel'), 'is carried by any replica, both ways, without what is the platform’s'],
      [fleet('tunnel'), 'speaks WebSocket at any replica'],
      [fleet('tunnel'), 'a shell and a request go on when the keeper of their machine is killed'],
    ],
    departs: 'TCP goes through `skylab shell -L`; pages in browsers have no way in',
  },
  {
    id: 'D-24',
    what: 'Both sides of that way prove themselves; who may use it',
    tests: [
      [tunnel('dial'), 'cannot relay: the true gateway refuses the proof, which is for another certificate'],
      [tunnel('dial'), 'cannot replay an answer that was right before, even over the same certificate'],
      [tunnel('dial'), 'is refused without the key of this very run'],
      [tunnel('dial'), 'opens a container that was started under an earlier token'],
      [tunnel('tunnels'), 'refuse a %s when ShellAccess does not allow it'],
      [tunnel('tunnels'), 'cut who may stay no longer within a minute, and nobody while that is not known'],
    ],
    departs:
      'the key is of a run and the proofs of a connection, so nothing can be used twice; an earlier token goes on while it is in `previousTokenFiles`',
  },
  {
    id: 'D-25',
    what: 'Several dispatchers with tokens of their own; thousands of machines',
    tests: [
      [contract, 'list has the machines of its set alone'],
      [unit('simulation'), 'a pass reads hardly more than twice as much of a queue and machines twice as long'],
    ],
    departs: '10,000 machines are those of a simulation: no cloud had so many',
  },
  {
    id: 'D-26',
    what: 'The metrics of Arvados',
    tests: [['src/telemetry/dispatch-metrics.test.ts', 'leaves out what Redis does not tell now']],
    departs: '`last_503_time` and `queue_entries` are not there: no other server is asked',
  },
  {
    id: 'D-30',
    what: 'All replicas are active; the machines of one that was killed are adopted within its lease, and run on',
    tests: [
      [fleet('takeover'), 'a container goes on in the same process when the replica that keeps its machine is killed'],
      [fleet('takeover'), 'output of a container is kept before its end when it ends while nobody keeps its machine'],
      [pool('scheduler'), 'writes nothing more when another replica has the lease'],
      [attacks('owners'), 'dispatch V9 stopped past the lease'],
    ],
  },
  {
    id: 'D-31',
    what: 'An intent is stored before the cloud is asked; nothing is leaked, interfaces too',
    tests: [
      [attacks('leaks'), 'dispatch V3 V6 a cloud that fails'],
      [pool('sweep'), 'adopts a machine of our set when no record has it'],
      [
        pool('sweep'),
        'removes what was made for a machine that never came, when it is old and nobody makes that machine',
      ],
    ],
    departs: 'disks end with their machine; there is no sweep of them',
  },
  {
    id: 'D-32',
    what: 'The host key is pinned; another one asks for the secret again, and is an event',
    tests: [
      [ssh('connect'), 'reports a changed key when another machine with our secret has the address'],
      [ssh('connect'), 'sends only login and question when a pinned key is another, and the secret too'],
    ],
  },
  {
    id: 'D-33',
    what: 'Runs of a container never overlap: epochs of keepers, numbers of runs, a lock on the machine',
    tests: [
      [runner('fence'), 'refuses a lower epoch, with the highest one and the secret'],
      [runner('fence'), 'is refused below the highest of its container'],
      [store('dispatch-model'), 'no history lets a container run twice, or be lost, or keys disagree'],
      [attacks('overlaps'), 'dispatch V1 stopped before the start'],
      [fleet('vm'), 'a container begins anew, and never twice at once, when its machine %s'],
    ],
  },
  {
    id: 'D-34',
    what: 'Limits of each tenant, tags for bills, a metric of cost',
    tests: [
      [unit('properties'), 'decide brings no tenant above its limits'],
      [fleet('tenants'), 'containers count for the LNamespace of their owner, and for no other'],
      [fleet('tenants'), 'a machine has the tags of whoever pays for it, also after an edit'],
      [pool('payers'), 'empties the keys of the tenant before when %s'],
      [
        fleet('tenants'),
        'what a container has cost is billed to its tenant once when its writer is killed before it knows',
      ],
    ],
    departs:
      'only LNamespaces of the configuration count; bills have what containers cost, and not what machines do beside them',
  },
  {
    id: 'D-35',
    what: 'A command that tries the cloud: create, probe, run, destroy',
    tests: [
      [fleet('cloudtest'), 'does all steps, and leaves nothing'],
      [
        fleet('cloudtest'),
        'names what it could not end, which a later test reports, and ends with --destroy-existing alone',
      ],
    ],
  },
  {
    id: 'D-36',
    what: 'No secret in arguments or logs',
    tests: [
      [
        'src/clouds/loopback/driver.test.ts',
        'shows no secret in arguments or environments, and keeps its init command no longer than needed',
      ],
      [runner('supervise'), 'keeps values of the environment out of command lines, logs and names'],
      [ssh('channel'), 'leaves the secret out of words'],
      [fleet('tunnel'), 'says why there is none, and leaves no secret on a command line'],
      [
        fleet('telemetry'),
        'a request for a container and the life of its machine are in traces, logs and the audit log',
      ],
    ],
  },
]
