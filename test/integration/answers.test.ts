/** The contract's table of answers, row by row, from a real replica. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Client, ErrorBody, RequestOptions } from '../kit/fleet/client.ts'
import { useFleet } from '../kit/fleet/fleet.ts'
import { testBed } from '../kit/testbed.ts'

const maxBodyBytes = 20_000
const fleet = useFleet({
  replicas: 1,
  people: {
    'no-scope': { scopes: ['read:all'] },
    'admin-only': { scopes: ['admin:jupyterlab'] },
    'no-labs': { quota: { spawn: false } },
    'little-room': { quota: { cpu: 1, memory: 4 } },
    'no-room': { quota: { cpu: 0.1, memory: 1 } },
    'no-uid': { uid: null },
    'no-gid': { gid: null },
  },
  config: { api: { limits: { maxBodyBytes, maxStreamsPerUser: 2 } } },
})

/** One row of the table: the request and its answer. */
interface Line {
  readonly what: string
  readonly as?: string
  readonly path: string | ((user: Client) => string)
  readonly request?: RequestOptions
  readonly status: number
  readonly type?: string
  readonly loc?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

const own = (rest: string) => (user: Client) => `labs/${user.username}/${rest}`
const size = 'small'
const sent = (body: unknown): RequestOptions => ({ method: 'POST', body })
const wanting = (options: unknown, more = {}) => sent({ options, env: {}, ...more })
const good = { image_type: 'recommended', size }
const option = (name: string) => ['body', 'options', name]

const lines: Line[] = [
  { what: 'malformed JSON', path: own('create'), request: sent('{"options": '), status: 400, type: 'malformed' },
  {
    what: 'a malformed Last-Event-ID',
    path: own('events'),
    request: { headers: { 'last-event-id': 'yesterday' } },
    status: 400,
    loc: ['header', 'last-event-id'],
  },
  {
    what: 'a token that nobody has',
    path: 'user-status',
    request: { headers: { authorization: 'Bearer unknown' } },
    status: 401,
    headers: { 'www-authenticate': 'Bearer' },
  },
  {
    what: 'a scheme other than Bearer',
    path: 'labs',
    request: { headers: { authorization: 'Basic dTpw' } },
    status: 401,
    headers: { 'www-authenticate': 'Bearer' },
  },
  { what: 'a token without the scope', as: 'no-scope', path: 'user-status', status: 403, type: 'scope_missing' },
  { what: 'an administrator on a user’s route', as: 'admin-only', path: 'user-status', status: 403 },
  { what: 'a user on an administrator’s route', path: 'labs', status: 403, type: 'scope_missing' },
  { what: 'another user’s events', path: 'labs/admin/events', status: 403, loc: ['path', 'username'] },
  { what: 'another user’s lab, to be created', path: 'labs/admin/create', request: wanting(good), status: 403 },
  { what: 'a quota that forbids labs', as: 'no-labs', path: own('create'), request: wanting(good), status: 403 },
  {
    what: 'a size beyond the quota',
    as: 'little-room',
    path: own('create'),
    request: wanting({ ...good, size: 'large' }),
    status: 403,
    loc: option('size'),
  },
  { what: 'a quota that fits no size', as: 'no-room', path: own('create'), request: wanting(good), status: 403 },
  { what: 'no UID', as: 'no-uid', path: own('create'), request: wanting(good), status: 403 },
  { what: 'no GID', as: 'no-gid', path: own('create'), request: wanting(good), status: 403 },
  { what: 'a route that does not exist', path: 'laboratories', status: 404 },
  { what: 'no lab', path: 'user-status', status: 404 },
  { what: 'no lab to delete', as: 'admin', path: 'labs/nobody', request: { method: 'DELETE' }, status: 404 },
  { what: 'no stream', path: own('events'), status: 404 },
  {
    what: 'a wrong method',
    path: own('create'),
    request: { method: 'PUT' },
    status: 405,
    headers: { allow: 'POST' },
  },
  {
    what: 'a body that is too large',
    path: own('create'),
    request: wanting(good, { env: { LONG: 'x'.repeat(maxBodyBytes) } }),
    status: 413,
  },
  {
    what: 'a body that is no JSON',
    path: own('create'),
    request: { ...sent('size=small'), headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    status: 415,
  },
  {
    what: 'options of the wrong type',
    path: own('create'),
    request: wanting([]),
    status: 422,
    loc: ['body', 'options'],
  },
  {
    what: 'an option of the wrong type',
    path: own('create'),
    request: wanting({ ...good, enable_debug: 'maybe' }),
    status: 422,
    loc: option('enable_debug'),
  },
  {
    what: 'an empty list',
    path: own('create'),
    request: wanting({ ...good, size: [] }),
    status: 422,
    loc: option('size'),
  },
  {
    what: 'a list of two',
    path: own('create'),
    request: wanting({ ...good, size: ['small', 'large'] }),
    status: 422,
    loc: option('size'),
  },
  {
    what: 'an unknown key',
    path: own('create'),
    request: wanting({ ...good, colour: 'blue' }),
    status: 422,
    loc: option('colour'),
  },
  { what: 'no options', path: own('create'), request: sent({ env: {} }), status: 422, loc: ['body', 'options'] },
  {
    what: 'a value of env that is no string',
    path: own('create'),
    request: wanting(good, { env: { A: 1 } }),
    status: 422,
    loc: ['body', 'env', 'A'],
  },
  {
    what: 'a name in env that is no variable’s',
    path: own('create'),
    request: wanting(good, { env: { '1A': 'x' } }),
    status: 422,
    loc: ['body', 'env', '1A'],
  },
  { what: 'no image', path: own('create'), request: wanting({ size }), status: 422, loc: ['body', 'options'] },
  {
    what: 'a tag that is no plain tag',
    path: own('create'),
    request: wanting({ size, image_tag: '../other:tag' }),
    status: 422,
    loc: option('image_tag'),
  },
  {
    what: 'an image of another repository',
    path: own('create'),
    request: wanting({ size, image_list: 'example.org/other/lab:latest' }),
    status: 422,
    loc: option('image_list'),
  },
  {
    what: 'an unknown size',
    path: own('create'),
    request: wanting({ ...good, size: 'enormous' }),
    status: 422,
    loc: option('size'),
  },
  {
    what: 'a user name with a slash',
    as: 'admin',
    path: 'labs/some%2Fbody',
    status: 422,
    loc: ['path', 'username'],
  },
  { what: 'a user name with a colon', as: 'admin', path: 'labs/some:body', status: 422, loc: ['path', 'username'] },
  {
    what: 'a user name with a control character',
    as: 'admin',
    path: 'labs/some%09body',
    request: { method: 'DELETE' },
    status: 422,
    loc: ['path', 'username'],
  },
]

/** Every error has the same format. */
function expectError(
  answer: Answer<ErrorBody>,
  { status, type, loc, headers = {} }: Omit<Line, 'what' | 'path'>,
): void {
  expect(answer).toMatchObject({ status, body: { detail: [{ msg: expect.stringMatching(/./) }] } })
  expect(Object.keys(answer.body)).toEqual(['detail'])
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  if (type !== undefined) expect(answer.body.detail[0]?.type).toBe(type)
  if (loc !== undefined) expect(answer.body.detail[0]?.loc).toEqual(loc)
  for (const [name, value] of Object.entries(headers)) expect(answer.headers.get(name)).toBe(value)
}

describe('a replica refuses', () => {
  let nobody: Client
  beforeAll(() => {
    nobody = fleet().user()
  })

  test.each(lines)('$status: $what', async line => {
    const user = line.as === undefined ? nobody : fleet().as(line.as)
    const path = typeof line.path === 'string' ? line.path : line.path(user)
    expectError(await user.request<ErrorBody>(path, line.request), line)
  })

  test('a request without a token, with 401', async () => {
    const response = await fetch(`${fleet().url(0)}/nublado/spawner/v1/user-status`)
    const body = (await response.json()) as ErrorBody
    const { status, headers } = response
    expectError({ status, headers, body }, { status: 401, headers: { 'www-authenticate': 'Bearer' } })
  })

  test.skipIf(!testBed().hasRegistry)('a tag that the repository does not have, with 422', async () => {
    const answer = await nobody.create({ size, image_tag: 'w_1999_01' })
    expectError(answer, { status: 422, loc: option('image_tag') })
  })

  test('one more event stream than a user may have open, with 429', async () => {
    const user = fleet().user()
    await user.create()
    const held = fleet().arm('lab.delete.pod.before-act', 'hold', { user: user.username })
    await user.follow()
    await fleet().admin.delete(user.username)
    await held.landed()
    const open = [await user.events(), await user.events()]
    expect(open.map(({ status }) => status)).toEqual([200, 200])
    const third = await user.request<ErrorBody>(`labs/${user.username}/events`)
    expectError(third, { status: 429, headers: { 'retry-after': '1' } })
    await Promise.all(open.map(stream => stream.close()))
    held.release()
    expect((await user.follow()).outcome).toBe('complete')
  })
})

describe('a replica accepts', () => {
  /** Sends the options, and returns those that the status then shows. */
  async function taken(options: Record<string, unknown>): Promise<unknown> {
    const user = fleet().user()
    const { status, body } = await user.create(options)
    expect({ status, body }).toEqual({ status: 303, body: undefined })
    return (await user.userStatus()).body.options
  }

  test.each([true, 'true', 'TRUE', ['True']])('a boolean as %j', async value => {
    expect(await taken({ ...good, enable_debug: value })).toEqual({ ...good, enable_debug: true })
  })

  test('the extra fields of a form, and drops them', async () => {
    expect(await taken({ ...good, _xsrf: ['2|abc'] })).toEqual(good)
  })

  test('no env as an empty one, and no size as the default', async () => {
    const user = fleet().user()
    const { image_type } = good
    const path = `labs/${user.username}/create`
    expect((await user.request(path, sent({ options: { image_type } }))).status).toBe(303)
    const { body } = await user.userStatus()
    expect(body).toMatchObject({
      env: {},
      options: { image_type },
      quotas: { limits: { cpu: 1, memory: 4 * 2 ** 30 } },
    })
  })

  test('an image by its tag, before its type', async () => {
    const user = fleet().user()
    await user.create({ ...good, image_tag: 'w_2026_46' })
    await user.follow()
    const { spec } = await fleet().world.podOf(user.username)
    expect(spec.containers[0].image).toContain(':w_2026_46')
  })

  test('an image by its reference, with the registry and without', async () => {
    const { registry, docker } = testBed().images
    const plain = `${docker!.repository}:w_2026_46`
    for (const image_list of [plain, `${registry}/${plain}`])
      expect(await taken({ image_list })).toEqual({ image_list })
  })

  test.skipIf(!testBed().hasRegistry)('an image by its digest', async () => {
    const first = fleet().user()
    await first.create()
    await first.follow()
    const image: string = (await fleet().world.podOf(first.username)).spec.containers[0].image
    const second = fleet().user()
    await second.create({ image_list: [image] })
    await second.follow()
    expect((await fleet().world.podOf(second.username)).spec.containers[0].image).toBe(image)
  })
})
