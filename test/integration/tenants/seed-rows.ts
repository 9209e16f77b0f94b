/** Rows of the list of acceptance, and the tests that show them. For docs/tenants.md. */

export interface SeedRow {
  readonly id: string
  readonly what: string
  /** Files and titles of tests; none where it comes later. */
  readonly tests: readonly (readonly [file: string, title: string])[]
  /** How this release departs from the row. */
  readonly departs?: string
}

const at = (name: string) => `test/integration/tenants/${name}.test.ts`
const [matrix, process, collection, badInput, policies] = [
  ...['matrix', 'process', 'collection', 'bad-input', 'policies'].map(at),
] as [string, string, string, string, string]
const table = [matrix, 'kubectl tells %s (%s) what the table says'] as const
const self = [
  collection,
  'a sudoer may impersonate himself while any LNamespace lists him, and no longer, when the controller manager %s',
] as const

export const seedRows: readonly SeedRow[] = [
  {
    id: 'T-01',
    what: 'LNamespace, short name `lns`, in the whole cluster; it owns the namespace of its name',
    tests: [
      [matrix, 'is found by this kubectl, and makes the person the requester and the only sudoer'],
      ['src/tenants/kind.test.ts', 'gets all objects of its table, each owned by it, and says so'],
      ['dev/kube/tenants.test.ts', 'the definition describes each of its fields'],
    ],
  },
  { id: 'T-02', what: 'Users, managers and sudoers', tests: [table] },
  {
    id: 'T-03',
    what: 'Everybody with an account sees the cluster as `view` does, and makes LNamespaces',
    tests: [table, [policies, 'policies admit %s (%s)']],
    departs: 'accounts of programs have the right, and a policy refuses them: they are no persons',
  },
  {
    id: 'T-04',
    what: 'Users: one RoleBinding to `admin`, without the namespace itself',
    tests: [table, [process, 'gives each what it says, and nobody else anything']],
  },
  { id: 'T-05', what: 'Managers: update, patch and delete of their LNamespace alone', tests: [table] },
  {
    id: 'T-06',
    what: 'The group `NAME-sudoers`, by impersonation alone',
    tests: [[process, 'by impersonation is for the sudoer alone, in this namespace alone'], table],
  },
  {
    id: 'T-07',
    what: 'A sudoer may impersonate exactly himself; the role is shared, and owned by every LNamespace that needs it',
    tests: [self, ['src/tenants/names.test.ts', 'escaped is injective, and makes names that RBAC accepts']],
  },
  {
    id: 'T-08',
    what: 'One role for each LNamespace to impersonate its group, bound to the sudoers',
    tests: [[matrix, 'ends when the name leaves the list'], table],
  },
  {
    id: 'T-09',
    what: 'The group has `cluster-admin` in the namespace, and edits its LNamespace',
    tests: [
      [matrix, 'does as root what the person cannot, with each argument as it was'],
      [matrix, 'edits the LNamespace itself'],
    ],
    departs: 'one role for managers and the group, not two',
  },
  {
    id: 'T-10',
    what: 'Edits clean up, and the end of an LNamespace leaves nothing',
    tests: [
      [process, 'takes a right away within a second of its edit'],
      self,
      [collection, 'takes all its objects, and what was made in the namespace'],
    ],
    departs:
      'no `mark-for-deletion`: the controller removes by UID and version, and does not wait for the garbage collector',
  },
  {
    id: 'T-11',
    what: 'Roles and bindings that sudoers make themselves are left alone',
    tests: [['src/tenants/strangers.test.ts', 'bindings that people of the tenant made are left alone']],
  },
  {
    id: 'T-12',
    what: 'Who pays, with defaults by the requester, is a row of a table that the configuration names; any SQL engine will do',
    tests: [
      [process, 'is in the table within seconds, with defaults by who asked, and follows edits until its end'],
      [process, 'is that of the group which admission noted of the requester, and nobody can claim another'],
      [
        'src/settings/billing.test.ts',
        'is on by the three variables of the first release alone, and only by all of them',
      ],
      ['test/kit/billing/contract.ts', 'write keeps the rows, the head and a line of the log'],
    ],
    departs:
      'one annotation has all of it as JSON; BigQuery is spoken to by its REST, and tried against a fake of that',
  },
  {
    id: 'T-13',
    what: 'Webhooks that answer with JSON patches, which tests look at',
    tests: [
      ['src/tenants/admission.test.ts', 'completes a creation of %s'],
      [at('webhook'), 'the webhook completes a creation of %s'],
      [policies, 'the policy makes the patches of the webhook: %s'],
      [at('webhook'), '%s, creations fail in words, and revocations and all else go on'],
    ],
    departs: 'for clusters without MutatingAdmissionPolicy alone; the paths name no version',
  },
  {
    id: 'T-14',
    what: 'What users get is vetted for each version of Kubernetes, and compared',
    tests: [
      [at('vetting'), 'skylab vet finds nothing on the version that is shipped as vetted'],
      [at('vetting'), 'a role that somebody adds to admin is found, and nothing is granted until it is vetted or gone'],
      ['src/tenants/vetting/shipped.test.ts', 'the rights that the components aggregate are vetted for %s'],
    ],
    departs: 'roles of this program may be absent',
  },
  { id: 'T-15', what: 'From end to end, with persons, `--as`, `--as-group` and `kubectl auth can-i`', tests: [table] },
  {
    id: 'T-16',
    what: 'The questions of a production readiness review',
    tests: [
      [
        'dev/pages/tenants-page.test.ts',
        'docs/tenants-review.md names only tests and attacks that exist, and answers each group of questions',
      ],
      [at('upgrade'), 'keep their objects and every right while they are upgraded, downgraded and upgraded again'],
      [at('upgrade'), 'keep their statuses while the API server is killed and starts again'],
    ],
  },
  {
    id: 'T-17',
    what: 'Labels of the namespace; `gial.lblw.dev/rbac-type`; `--cascade=orphan` leaves the dependents',
    tests: [
      [collection, 'leaves all its objects when a manager asks for that by --cascade=orphan'],
      [collection, 'names the type of each right in a label'],
      [process, 'of many parts is made, edited and emptied by an account that its policy bounds'],
    ],
  },
  {
    id: 'T-20',
    what: 'No namespace and no role is adopted; reserved names are refused',
    tests: [
      [process, 'takes over the namespace of another that an administrator has marked, and no other'],
      [process, 'of a reserved name is refused, and gets nothing where it was stored before the policies'],
      ['src/tenants/strangers.test.ts', 'a namespace is never adopted, and gives a conflict with no right'],
    ],
  },
  {
    id: 'T-21',
    what: 'Names of objects never collide; a name is a DNS label; other kinds of sudoers are refused with a reason',
    tests: [
      ['src/tenants/names.test.ts', 'each name leads back to its tenant or user'],
      [badInput, 'nothing is left behind when the API server gets %s (%s)'],
    ],
    departs: 'names are escaped, not hashed, so that a policy can check them',
  },
  {
    id: 'T-22',
    what: 'Conditions, the observed generation and counts; what is half done is never silent',
    tests: [
      [badInput, 'nobody gets a right in a namespace, and a condition says why, when the API server accepts %s'],
      ['src/tenants/status.test.ts', 'tenantStatus tells why a write was refused'],
    ],
  },
  {
    id: 'T-23',
    what: 'Sudoers change neither Pod Security nor owners, nor the platform’s objects; what others change is undone',
    tests: [
      [policies, 'refuses a removal: %s (%s)'],
      [collection, 'is as declared again within five seconds when an administrator changes its objects'],
    ],
  },
  {
    id: 'T-24',
    what: 'The power of the controller’s account is bounded',
    tests: [
      [policies, 'may not write %s'],
      [
        'dev/kube/tenants.test.ts',
        'the account of tenants has no write that no policy looks at, but deletions of objects of our names',
      ],
    ],
    departs:
      'the account may `escalate` and `bind`: `bind` with names bounds nothing, since a ClusterRoleBinding asks for the same name. A policy is the bound',
  },
  {
    id: 'T-25',
    what: 'Quota, limits, a wall between namespaces, a number of LNamespaces for each person, `preventDeletion`',
    tests: [
      [process, 'gives each what it says, and nobody else anything'],
      [policies, 'the cluster itself counts the quota of a tenant, and removes all of it when its LNamespace is gone'],
      [badInput, 'nobody gets a right in a namespace, and a condition says why, when the API server accepts %s'],
    ],
    departs: 'one LNamespace too many is stored and gets nothing; cordon is left out',
  },
  {
    id: 'T-26',
    what: 'Sudo with an end; a plugin; the last command again by `!!`',
    tests: [
      [process, 'with an end ends by itself, within a second'],
      [matrix, 'is for an eligible person while a grant runs, and no longer'],
      [matrix, 'runs the last command of a shell again by !!'],
      ['plugins/plugins.test.ts', 'prints the command as a shell reads it when it is asked to'],
    ],
  },
  {
    id: 'T-27',
    what: 'A database that is away delays nothing; rows of what is deleted go; parameters, and a compare from time to time',
    tests: [
      [process, 'waits, and says so, while the database is away; nothing else does, and it heals by itself'],
      ['src/billing/sender.test.ts', 'a compare closes what is gone, once the API server itself says so'],
      ['test/kit/billing/contract.ts', 'write keeps a value as it is when it has %s'],
      ['test/integration/store/bills.test.ts', 'put leaves a bill once, and nothing that is older than what was put'],
      ['test/integration/faults/tenants/bills.ts', 'tenants N8 a sender that was stopped past its lease'],
    ],
  },
  {
    id: 'T-28',
    what: 'No write at rest',
    tests: [
      [process, 'two replicas make all of it though one of them is killed, and a new one finds nothing to write'],
      ['src/tenants/kind.test.ts', 'costs no write once it stands, whoever looks'],
    ],
  },
]
