import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { main } from './main.ts'
import type { Settings } from './settings/load.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skylab-main-'))
  await writeFile(join(folder, 'tokens.yaml'), 'tokens: []')
  await writeFile(join(folder, 'good.yaml'), 'identity: {static: {file: tokens.yaml}}')
  await writeFile(join(folder, 'bad.yaml'), 'api: {colour: blue}')
})
afterEach(() => rm(folder, { recursive: true }))

async function run(...args: string[]) {
  const [out, err, served]: [string[], string[], Settings[]] = [[], [], []]
  const code = await main(args, {
    env: { SKYLAB_SEALING_KEY: Buffer.alloc(32, 1).toString('base64') },
    serve: async settings => void served.push(settings),
    out: text => void out.push(text),
    err: text => void err.push(text),
  })
  return { code, out: out.join(''), err: err.join(''), served }
}

describe('skylab check', () => {
  it('prints ok for a valid file', async () => {
    expect(await run('check', '--config', join(folder, 'good.yaml'))).toMatchObject({
      code: 0,
      out: 'ok\n',
      served: [],
    })
  })

  it('names the wrong key and exits 2', async () => {
    const { code, out, err } = await run('check', '--config', join(folder, 'bad.yaml'))
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/bad\.yaml:\n {2}api\.colour: unknown key\n$/)
  })
})

describe('skylab check --without-secrets', () => {
  const check = async (text: string, ...more: string[]) => {
    const file = join(folder, 'site.yaml')
    await writeFile(file, text)
    return main(['check', '--config', file, ...more], {
      ...{ env: {}, serve: () => Promise.reject(new Error('nothing is to be served')), out: () => {} },
      err: words => void said.push(words),
    })
  }
  let said: string[]
  beforeEach(() => {
    said = []
  })

  it.each(['demo', 'gafaelfawr', 'oidc'])(
    'accepts the configuration of the overlay %s without its files',
    async overlay => {
      const text = await readFile(new URL(`../k8s/overlays/${overlay}/skylab.yaml`, import.meta.url), 'utf8')
      expect([await check(text), said.join('')]).toEqual([2, expect.stringContaining('sealing.keyFiles.0: the file')])
      expect(await check(text, '--without-secrets')).toBe(0)
    },
  )

  it.each([
    ['an unknown key', 'api: {colour: blue}', 'api.colour: unknown key'],
    ['two keys that do not fit', 'lab: {mounts: [{volume: x, path: /x}]}', 'lab.mounts.0.volume'],
  ])('refuses %s', async (_, text, words) => {
    expect([await check(text, '--without-secrets'), said.join('')]).toEqual([2, expect.stringContaining(words)])
  })
})

describe('skylab check of a missing file', () => {
  const keys = (path: string) => writeFile(join(folder, 'bad.yaml'), `sealing: {keyFiles: [${path}]}`)
  const problems = async () => (await run('check', '--config', join(folder, 'bad.yaml'))).err

  it('names its path', async () => {
    await keys(join(folder, 'sealing-2.key'))
    const path = join(folder, 'sealing-2.key')
    expect(await problems()).toContain(`sealing.keyFiles.0: the file ${path} cannot be read (ENOENT)`)
  })

  it.each(['hunter2', '/hunter2', '/aGFyZA/hunter2='])('does not quote a text that may be a secret: %s', async text => {
    await keys(text)
    expect(await problems()).toContain('sealing.keyFiles.0: the file cannot be read (ENOENT)')
  })
})

describe('skylab check --manifests', () => {
  const digest = `sha256:${'a'.repeat(64)}`
  const check = async (text: string) => {
    await writeFile(join(folder, 'manifests.yaml'), text)
    return run('check', '--config', join(folder, 'good.yaml'), '--manifests', join(folder, 'manifests.yaml'))
  }
  const pod = (image: string) =>
    `{initContainers: [{name: first, image: 'r.org/a@${digest}'}], containers: [{name: c, image: '${image}'}]}`
  const deployment = (image: string) =>
    `kind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: ${pod(image)}}}\n`

  it('warns of each image without a digest, in every document', async () => {
    const { code, err } = await check(`${deployment('r.org/b:1')}---\n${deployment(`r.org/c:1@${digest}`)}---\n`)
    const ofImages = err.split('\n').filter(line => line.includes('digest'))
    expect([code, ofImages]).toEqual([0, ['warning: Deployment d, container c: r.org/b:1 has no digest']])
  })

  it('names the line of invalid YAML, and does not quote it', async () => {
    const { code, err } = await check('kind: Secret\n---\nstringData: {key: "hunter2\n')
    expect(code).toBe(2)
    expect(err).toMatch(/manifests\.yaml:\n {2}line \d+, column \d+: is not YAML/)
    expect(err).not.toContain('hunter2')
  })

  it('reports a file that cannot be read', async () => {
    const { code, err } = await run('check', '--config', join(folder, 'good.yaml'), '--manifests', join(folder, 'none'))
    expect([code, err]).toEqual([2, `${join(folder, 'none')}:\n  cannot be read (ENOENT)\n`])
  })
})

describe('skylab gateway', () => {
  const file = () => join(folder, 'gateway.yaml')
  const gateway = async (text: string) => {
    await writeFile(
      file(),
      `${text}\nidentity: {static: {file: tokens.yaml}}\ngateway: {publicUrl: "https://a.example"}`,
    )
    return run('gateway', '--config', file())
  }

  it.each(['', 'run: [gateway]'])('serves the gateway when the file has %j', async text => {
    const { served } = await gateway(text)
    expect(served.map(({ config }) => config.run)).toEqual([['gateway']])
  })

  it('serves nothing when the file is of another process', async () => {
    const { code, err, served } = await gateway('run: [labs]')
    expect([code, served]).toEqual([2, []])
    expect(err).toContain('run: is ["labs"], and the command serves gateway')
  })
})

describe('skylab serve', () => {
  it('serves with the settings', async () => {
    const { code, served } = await run('serve', '--config', join(folder, 'good.yaml'))
    expect(code).toBeUndefined()
    expect(served).toMatchObject([{ config: { api: { port: 8080 } } }])
  })

  it('does not start with an invalid file', async () => {
    expect(await run('serve', '--config', join(folder, 'bad.yaml'))).toMatchObject({ code: 2, served: [] })
  })
})

it.each([
  [[]],
  [['serve']],
  [['server', '--config', 'x']],
  [['check', 'x', '--config', 'x']],
  [['check', '--colour']],
  [['check', '--config', 'x', '--json']],
  [['serve', '--config', 'x', '--manifests', 'x']],
  [['serve', '--config', 'x', '--without-secrets']],
  [['images', '--config', 'x', '--secrets']],
  [['images', '--config', 'x', '--apply']],
  [['heal']],
  [['heal', '--config', 'x', '--secrets']],
  [['render', '--config', 'x', '--user', 'x']],
  [['toString', '--config', 'x']],
])('main prints the usage and exits 2 for %j', async args => {
  const { code, err } = await run(...args)
  expect(code).toBe(2)
  expect(err).toMatch(/^usage: skylab serve/)
})

it('main prints usage and version', async () => {
  expect(await run('--help')).toMatchObject({ code: 0, out: expect.stringMatching(/^usage/) })
  expect(await run('--version')).toMatchObject({ code: 0, out: expect.stringMatching(/^skylab \d+\.\d+\.\d+\n$/) })
})

describe('skylab runner', () => {
  it('gets all further words, and loads no settings', async () => {
    const heard: (readonly string[])[] = []
    const invocation = {
      env: {},
      serve: () => Promise.reject(new Error('nothing is to be served')),
      out: () => {},
      err: () => {},
    }
    const runner = async (args: readonly string[]) => heard.push(args)
    expect(await main(['runner', '--kill', 'x'], { ...invocation, runner })).toBe(1)
    expect(heard).toEqual([['--kill', 'x']])
  })
})
