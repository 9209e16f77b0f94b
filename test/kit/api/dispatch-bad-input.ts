/** Bad input to the routes of containers and of operators, and the answers. For tests that send it, and for docs/dispatch-rest.md. Pure. */

export interface BadContainerInput {
  /** For readers. */
  readonly sent: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/dispatch/v1`; `/admin` before it: below `/dispatch/admin/v1`; `!` before it: below `/arvados/v1/dispatch`. */
  readonly path: string
  /** A caller's name; undefined: no token. */
  readonly who?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly status: number
  readonly type: string
  readonly loc?: readonly (string | number)[]
}

/** What every container must say. */
export const leastContainer = {
  ...{ command: ['true'], container_image: 'busybox' },
  runtime_constraints: { ram: 1_000_000 },
} as const

const made = (change: object) => ({ ...leastContainer, ...change })
const text = (body: string) => ({ method: 'POST', path: '/containers', who: 'ann', body }) as const
const post = (change: object) => text(JSON.stringify(made(change)))
const at = (...loc: (string | number)[]) => ({ status: 422, type: 'invalid', loc: ['body', ...loc] }) as const
const uuid = 'zzzzz-dz642-000000000000000'
const patch = (body: object) =>
  ({ method: 'PATCH', path: `/containers/${uuid}`, who: 'ann', body: JSON.stringify(body) }) as const

const ofCommand: readonly BadContainerInput[] = [
  {
    sent: 'a container without a command',
    ...text('{"container_image": "busybox", "runtime_constraints": {"ram": 1}}'),
    ...at('command'),
    type: 'missing',
  },
  { sent: 'an empty command', ...post({ command: [] }), ...at('command') },
  { sent: 'a command without a program', ...post({ command: ['', 'x'] }), ...at('command', 0) },
  { sent: 'a command as one text', ...post({ command: 'true' }), ...at('command') },
  { sent: 'an argument with NUL', ...post({ command: ['a', 'b\0'] }), ...at('command', 1) },
  { sent: 'a command of 128 KiB', ...post({ command: ['a', 'b'.repeat(131_069)] }), ...at('command') },
  { sent: 'a command of 1,001 arguments', ...post({ command: Array(1001).fill('a') }), ...at('command') },
  { sent: 'an image that begins as an option', ...post({ container_image: '--privileged' }), ...at('container_image') },
  { sent: 'an image with a space', ...post({ container_image: 'busybox --privileged' }), ...at('container_image') },
  {
    sent: 'no image',
    ...text('{"command": ["true"], "runtime_constraints": {"ram": 1}}'),
    ...at('container_image'),
    type: 'missing',
  },
  { sent: 'a folder that is relative', ...post({ cwd: 'home' }), ...at('cwd') },
  { sent: 'a folder with a character that changes the direction of text', ...post({ cwd: '/a\u202eb' }), ...at('cwd') },
  { sent: 'a folder with a line break', ...post({ cwd: '/a\nb' }), ...at('cwd') },
  { sent: 'a folder with `..`', ...post({ cwd: '/home/../etc' }), ...at('cwd') },
]

const ofVariables: readonly BadContainerInput[] = [
  { sent: 'a variable whose name has `=`', ...post({ environment: { 'A=B': '1' } }), ...at('environment', 'A=B') },
  {
    ...{ sent: 'a variable `__proto__`', ...at('environment', '__proto__') },
    ...post({ environment: JSON.parse('{"__proto__": "1"}') }),
  },
  { sent: 'a variable that is a number', ...post({ environment: { A: 1 } }), ...at('environment', 'A') },
  {
    sent: 'a secret variable with NUL',
    ...post({ secret_environment: { A: '\0' } }),
    ...at('secret_environment', 'A'),
  },
  {
    ...{ sent: 'a variable that is both plain and secret', ...at('secret_environment', 'A') },
    ...post({ environment: { A: '1' }, secret_environment: { A: '2' } }),
  },
  {
    sent: 'a value of more than 32,000 characters',
    ...post({ environment: { A: 'a'.repeat(32_001) } }),
    ...at('environment', 'A'),
  },
  {
    ...{ sent: 'more than 512 variables of both kinds', ...at('environment') },
    ...post({
      environment: Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`A${index}`, ''])),
      secret_environment: Object.fromEntries(Array.from({ length: 13 }, (_, index) => [`B${index}`, ''])),
    }),
  },
  {
    ...{ sent: 'variables of more than 192 KiB', ...at('environment') },
    ...post({
      environment: Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`A${index}`, 'a'.repeat(30_000)])),
    }),
  },
]

const ofNeeds: readonly BadContainerInput[] = [
  { sent: 'no memory', ...post({ runtime_constraints: {} }), ...at('runtime_constraints', 'ram'), type: 'missing' },
  { sent: 'memory as text', ...post({ runtime_constraints: { ram: '4GiB' } }), ...at('runtime_constraints', 'ram') },
  {
    sent: 'memory of less than nothing',
    ...post({ runtime_constraints: { ram: -1 } }),
    ...at('runtime_constraints', 'ram'),
  },
  {
    sent: 'no processor',
    ...post({ runtime_constraints: { ram: 1, vcpus: 0 } }),
    ...at('runtime_constraints', 'vcpus'),
  },
  { sent: 'half a GPU', ...post({ runtime_constraints: { ram: 1, gpus: 0.5 } }), ...at('runtime_constraints', 'gpus') },
  {
    sent: 'a constraint that is unknown',
    ...post({ runtime_constraints: { ram: 1, API: true } }),
    ...at('runtime_constraints', 'API'),
    type: 'unknown_key',
  },
  {
    sent: 'a mount at a relative path',
    ...post({ mounts: { tmp: { kind: 'tmp', capacity: 1 } } }),
    ...at('mounts', 'tmp'),
  },
  {
    sent: 'a mount whose path has an option of its engine',
    ...post({ mounts: { '/a,ro': { kind: 'tmp', capacity: 1 } } }),
    ...at('mounts', '/a,ro'),
  },
  {
    sent: 'a mount of another kind',
    ...post({ mounts: { '/keep': { kind: 'keep', capacity: 1 } } }),
    ...at('mounts', '/keep', 'kind'),
  },
  {
    ...{ sent: 'more than 16 mounts', ...at('mounts') },
    ...post({
      mounts: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`/${index}`, { kind: 'tmp', capacity: 1 }])),
    }),
  },
  {
    sent: 'a time to run of less than nothing',
    ...post({ scheduling_parameters: { max_run_time: -1 } }),
    ...at('scheduling_parameters', 'max_run_time'),
  },
  {
    sent: 'a partition, as in Arvados',
    ...post({ scheduling_parameters: { partitions: ['a'] } }),
    ...at('scheduling_parameters', 'partitions'),
    type: 'unknown_key',
  },
  { sent: 'a tenant that is no name of an LNamespace', ...post({ tenant: '../a' }), ...at('tenant') },
  { sent: 'a priority of 1001', ...post({ priority: 1001 }), ...at('priority') },
  {
    sent: 'a priority of `1e999`',
    ...text(JSON.stringify(made({ priority: 7 })).replace('7}', '1e999}')),
    ...at('priority'),
  },
  { sent: 'a container that may never begin', ...post({ container_count_max: 0 }), ...at('container_count_max') },
]

const ofBodies: readonly BadContainerInput[] = [
  { sent: 'an owner of the sender’s choice', ...post({ owner: 'root' }), ...at('owner'), type: 'unknown_key' },
  {
    sent: 'a key that is there twice',
    ...text('{"command": ["true"], "command": ["false"]}'),
    ...at('command'),
    type: 'duplicate_key',
  },
  { sent: 'a body that is no JSON', ...text('{'), status: 400, type: 'malformed', loc: ['body'] },
  {
    ...{ sent: 'a body of another type', ...post({}), headers: { 'Content-Type': 'text/plain' } },
    ...{ status: 415, type: 'not_json', loc: ['header', 'content-type'] },
  },
  { sent: 'a body of 321 KiB', ...text(' '.repeat(321 * 1024)), status: 413, type: 'too_large', loc: ['body'] },
  {
    ...{ sent: 'an Idempotency-Key of 256 characters', ...post({}), headers: { 'Idempotency-Key': 'a'.repeat(256) } },
    ...{ status: 422, type: 'invalid', loc: ['header', 'idempotency-key'] },
  },
  { sent: 'a change without a priority', ...patch({}), ...at('priority'), type: 'missing' },
  { sent: 'a change of a state', ...patch({ priority: 1, state: 'Complete' }), ...at('state'), type: 'unknown_key' },
  { sent: 'a priority as text', ...patch({ priority: '7' }), ...at('priority') },
]

const ofPaths: readonly BadContainerInput[] = [
  {
    sent: 'a uuid of something else',
    method: 'GET',
    path: '/containers/zzzzz-xvhdp-000000000000000',
    who: 'ann',
    status: 422,
    type: 'invalid',
    loc: ['path', 'uuid'],
  },
  {
    sent: 'a uuid with a slash, encoded',
    method: 'DELETE',
    path: '/containers/a%2Fb',
    who: 'ann',
    status: 422,
    type: 'invalid',
    loc: ['path', 'uuid'],
  },
  {
    sent: 'a uuid that nobody has',
    method: 'DELETE',
    path: `/containers/${uuid}`,
    who: 'ann',
    status: 404,
    type: 'unknown_container',
    loc: ['path', 'uuid'],
  },
  {
    sent: 'a page after something else',
    method: 'GET',
    path: '/containers?after=1',
    who: 'ann',
    status: 422,
    type: 'invalid',
    loc: ['query', 'after'],
  },
  {
    sent: 'a page of 101',
    method: 'GET',
    path: '/containers?limit=101',
    who: 'ann',
    status: 422,
    type: 'invalid',
    loc: ['query', 'limit'],
  },
  {
    sent: 'another owner, as a user',
    method: 'GET',
    path: '/containers?owner=root',
    who: 'ann',
    status: 422,
    type: 'unknown_key',
    loc: ['query', 'owner'],
  },
  {
    sent: 'no token',
    method: 'POST',
    path: '/containers',
    status: 401,
    type: 'unauthorized',
    loc: ['header', 'authorization'],
  },
  {
    sent: 'a token without a scope',
    method: 'GET',
    path: '/containers',
    who: 'guest',
    status: 403,
    type: 'scope_missing',
  },
  {
    sent: 'a path of administrators, as a user',
    method: 'GET',
    path: '/admin/containers',
    who: 'ann',
    status: 403,
    type: 'scope_missing',
  },
  {
    sent: 'a path of users, as an administrator',
    method: 'GET',
    path: '/containers',
    who: 'root',
    status: 403,
    type: 'scope_missing',
  },
  {
    ...{ sent: 'a cookie', method: 'DELETE', path: `/containers/${uuid}`, who: 'ann', headers: { Cookie: 'a=b' } },
    ...{ status: 403, type: 'forbidden', loc: ['header', 'cookie'] },
  },
  {
    ...{ sent: 'an event id that is none', method: 'GET', path: `/containers/${uuid}/events`, who: 'ann' },
    ...{ headers: { 'Last-Event-ID': 'x' }, status: 400, type: 'malformed', loc: ['header', 'last-event-id'] },
  },
]

const ofOperators: readonly BadContainerInput[] = [
  {
    sent: 'no management token',
    method: 'POST',
    path: '!/instances/kill?instance_id=i-1',
    status: 401,
    type: 'unauthorized',
    loc: ['header', 'authorization'],
  },
  {
    sent: 'the token of an administrator in its place',
    method: 'POST',
    path: '!/instances/kill?instance_id=i-1',
    who: 'root',
    status: 403,
    type: 'forbidden',
    loc: ['header', 'authorization'],
  },
  {
    sent: 'the management token on a path of administrators',
    method: 'GET',
    path: '/admin/containers',
    who: 'operator',
    status: 401,
    type: 'unauthorized',
    loc: ['header', 'authorization'],
  },
  {
    sent: 'no instance',
    method: 'POST',
    path: '!/instances/hold',
    who: 'operator',
    status: 400,
    type: 'missing',
    loc: ['query', 'instance_id'],
  },
  {
    sent: 'two instances',
    method: 'POST',
    path: '!/instances/hold?instance_id=a&instance_id=b',
    who: 'operator',
    status: 422,
    type: 'invalid',
    loc: ['query', 'instance_id'],
  },
  {
    sent: 'a reason for a hold',
    method: 'POST',
    path: '!/instances/hold?instance_id=a&reason=b',
    who: 'operator',
    status: 422,
    type: 'unknown_key',
    loc: ['query', 'reason'],
  },
  {
    sent: 'a kill by GET',
    method: 'GET',
    path: '!/containers/kill?container_uuid=a',
    who: 'operator',
    status: 405,
    type: 'method_not_allowed',
  },
  {
    ...{
      sent: 'a form of 5 KiB',
      method: 'POST',
      path: '!/instances/kill',
      who: 'operator',
      body: `instance_id=${'a'.repeat(5000)}`,
    },
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': '5012' },
    ...{ status: 413, type: 'too_large', loc: ['body'] },
  },
]

export const badContainerInput: readonly BadContainerInput[] = [
  ...[...ofCommand, ...ofVariables, ...ofNeeds, ...ofBodies, ...ofPaths, ...ofOperators],
]
