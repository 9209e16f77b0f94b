/** Foreign generated clients, readers of events and linters, used as docs/clients.md says. */
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import { run } from '../../dev/process/command.ts'
import { createProgress } from '../../dev/process/progress.ts'
import { npmPackages } from '../../dev/setup/npm.ts'
import { pythonEnvironment } from '../../dev/setup/python.ts'
import type { Client } from '../kit/fleet/client.ts'
import { useFleet } from '../kit/fleet/fleet.ts'

const source = fileURLToPath(new URL('../clients', import.meta.url))
const prefix = '/nublado/spawner/v1'
/** The first run installs packages. */
const startLimitMs = 300_000
/** Two generators and a type check take 10 s of processor time, beside everything else. */
const generateLimitMs = 180_000

const fleet = useFleet({ replicas: 1, people: { reader: {} } })
const redirecting = useFleet({ replicas: 1, config: { api: { createLocation: 'user-status' } } })

let folder: string
let packages: string
let python: string

beforeAll(async () => {
  const progress = createProgress()
  packages = await npmPackages({ name: 'clients', source, progress })
  python = await pythonEnvironment({ name: 'clients', requirements: join(source, 'requirements.txt'), progress })
  folder = join(fleet().stateDir, 'clients')
  await mkdir(folder)
  await cp(source, folder, { recursive: true })
  await symlink(join(packages, 'node_modules'), join(folder, 'node_modules'))
  const document = await fetch(`${fleet().url(0)}${prefix}/openapi.json`)
  await writeFile(join(folder, 'openapi.json'), await document.text())
}, startLimitMs)

const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' }
const tool = (path: string, ...args: string[]) =>
  run(process.execPath, [join(packages, 'node_modules', path), ...args], {
    ...{ cwd: folder, env: { ...process.env, ...quiet } },
  })
const pythonTool = (name: string, ...args: string[]) => run(join(python, 'bin', name), args, { cwd: folder })

/** Environment of a program that acts for a user. */
const envOf = (user: Client, { url = fleet().url(0), admin = fleet().admin } = {}) => ({
  ...process.env,
  PYTHONPATH: folder,
  PYTHONDONTWRITEBYTECODE: '1',
  ORIGIN: url,
  API: `${url}${prefix}`,
  CREATE_URL: `${url}${prefix}/labs/${user.username}/create`,
  LAB_USER: user.username,
  TOKEN: user.token,
  ADMIN: admin.token,
})

const runPython = (file: string, user: Client, where = {}) =>
  run(join(python, 'bin', 'python'), [file], { cwd: folder, env: envOf(user, where) })

/** Bundled first, since generated files import each other without endings. */
async function runTypeScript(file: string, user: Client): Promise<string> {
  const outfile = join(folder, file.replace(/\.ts$/, '.mjs'))
  await build({
    ...{ entryPoints: [join(folder, file)], outfile, bundle: true, logLevel: 'silent' },
    ...{ platform: 'node', format: 'esm', absWorkingDir: folder },
  })
  return run(process.execPath, [outfile], { cwd: folder, env: envOf(user) })
}

/** A program of docs/clients.md. */
async function programOf(language: string, file: string): Promise<void> {
  const page = await readFile(new URL('../../docs/clients.md', import.meta.url), 'utf8')
  const [, program] = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(page)!
  await writeFile(join(folder, file), program!)
}

const jsonLines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))

describe('the OpenAPI document', () => {
  test.concurrent('is clean when Redocly reads it', async () => {
    await tool('@redocly/cli/bin/cli.js', 'lint', '--config', 'redocly.yaml', '--max-problems=50', 'openapi.json')
  })

  test.concurrent('is clean when Spectral reads it', async () => {
    const said = await tool(
      ...(['@stoplight/spectral-cli/dist/index.js', 'lint', '--fail-severity', 'hint'] as const),
      ...['--ruleset', 'spectral.yaml', 'openapi.json'],
    )
    expect(said).toMatch(/No results/)
  })
})

const life = (user: Client) => ({
  created: 201,
  location: `${prefix}/labs/${user.username}`,
  outcome: 'complete',
  status: 'running',
  first: 'info',
  listed: true,
  again: [409, 'lab_exists'],
  forbidden: [403, 'scope_missing'],
  deleted: 202,
  deletion: 'complete',
  gone: [404, 'unknown_user'],
})

describe('a generated client creates, follows and deletes a lab', () => {
  test.concurrent('when openapi-python-client made it', async () => {
    const config = 'post_hooks: []\npackage_name_override: skylab_client\nproject_name_override: skylab-client\n'
    await writeFile(join(folder, 'config.yaml'), config)
    const options = ['--path', 'openapi.json', '--meta', 'none', '--config', 'config.yaml']
    await pythonTool('openapi-python-client', 'generate', ...options, '--output-path', 'skylab_client')
    const user = fleet().user()
    expect(jsonLines(await runPython('life_openapi_python_client.py', user))).toEqual([life(user)])
  })

  test.concurrent(
    'when openapi-typescript and @hey-api/openapi-ts made it, and its types fit',
    async () => {
      await Promise.all([
        tool('openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'skylab.d.ts'),
        tool('@hey-api/openapi-ts/bin/run.js', '-i', 'openapi.json', '-o', 'skylab'),
        programOf('ts', 'follow.ts'),
      ])
      const types = tool('typescript/bin/tsc', '-p', 'tsconfig.json')
      const [one, other] = [fleet().user(), fleet().user()]
      const [first, second] = await Promise.all([
        runTypeScript('life-openapi-fetch.ts', one),
        runTypeScript('life-hey-api.ts', other),
        types,
      ])
      expect(jsonLines(first)).toEqual([{ ...life(one), refused: [422, 'invalid'] }])
      expect(jsonLines(second)).toEqual([life(other)])
    },
    generateLimitMs,
  )
})

describe('a client that follows redirects', () => {
  const init = (user: Client, more = {}) => ({
    method: 'POST',
    headers: { authorization: `Bearer ${user.token}`, 'content-type': 'application/json', ...more },
    body: JSON.stringify({ options: { image_type: 'recommended', size: 'small' } }),
  })
  const curl = (user: Client, url: string, ...more: string[]) =>
    run('curl', [
      ...['-s', '-o', '/dev/null', '-w', '%{http_code}', '-H', `Authorization: Bearer ${user.token}`, ...more],
      ...['-H', 'Content-Type: application/json', '-H', 'Idempotency-Key: one', '-d', init(user).body],
      `${url}${prefix}/labs/${user.username}/create`,
    ])
  const minimal = { prefer: 'return=minimal' }

  test.concurrent('gets 403 for a lab that is created, unless it prefers a minimal return', async () => {
    const user = fleet().user()
    const url = `${fleet().url(0)}${prefix}/labs/${user.username}/create`
    const key = { 'idempotency-key': 'one' }
    const followed = await fetch(url, init(user, key))
    expect([followed.status, followed.redirected]).toEqual([403, true])
    const asked = await fetch(url, init(user, { ...key, ...minimal }))
    expect([asked.status, asked.redirected]).toEqual([201, false])
    expect(asked.headers.get('location')).toBe(`${prefix}/labs/${user.username}`)
    expect(asked.headers.get('preference-applied')).toBe('return=minimal')
    const codes = [[], ['-L'], ['-L', '-H', 'Prefer: return=minimal']].map(more => curl(user, fleet().url(0), ...more))
    expect(await Promise.all(codes)).toEqual(['303', '403', '201'])
    expect(jsonLines(await runPython('following.py', user))).toEqual(pythonAnswers(403))
  })

  test.concurrent('finds its lab at the address that the site configures', async () => {
    const user = redirecting().user()
    const url = redirecting().url(0)
    const followed = await fetch(
      `${url}${prefix}/labs/${user.username}/create`,
      init(user, { 'idempotency-key': 'one' }),
    )
    expect([followed.status, await followed.json()]).toMatchObject([200, { username: user.username }])
    expect(await curl(user, url, '-L')).toBe('200')
    expect(jsonLines(await runPython('following.py', user, { url }))).toEqual(pythonAnswers(200))
  })
})

/** @param end status at the target of the redirect */
const pythonAnswers = (end: number) => [
  { client: 'requests', status: end, redirects: 1 },
  { client: 'requests, not following', status: 303, redirects: 0 },
  { client: 'requests, minimal', status: 201, redirects: 0 },
  { client: 'httpx', status: 303, redirects: 0 },
  { client: 'httpx, following', status: end, redirects: 1 },
  { client: 'httpx, following, minimal', status: 201, redirects: 0 },
]

test('three readers of events get each event once', async () => {
  const user = fleet().as('reader')
  expect((await user.create()).status).toBe(303)
  const { events } = await user.follow()
  await Promise.all([programOf('python', 'follow.py'), programOf('ts', 'follow.ts')])
  const lines = events.map(({ id, event, data }) => `${id} ${event} ${data}`)
  const splitLines = (text: string) => text.trim().split('\n')
  const [httpx, eventSource, sseclient] = await Promise.all([
    runPython('follow.py', user),
    runTypeScript('follow.ts', user),
    runPython('sseclient_reader.py', user),
  ])
  expect(splitLines(httpx)).toEqual(lines)
  expect(splitLines(eventSource)).toEqual(lines)
  expect(jsonLines(sseclient)).toEqual(events.map(({ id, event, data }) => [id, event, data]))
  // The first block has `retry` and an event: a reader that makes an event of each block gets none without data.
  expect(await runPython('empty_events.py', user)).toBe('0\n')
})
