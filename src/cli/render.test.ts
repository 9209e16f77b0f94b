import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../base/domain.ts'
import { CommandTest } from './testing/command.ts'

let test: CommandTest
let digest: string
beforeEach(async () => {
  test = await CommandTest.start()
  digest = test.registry.push('w_2026_02')
})
afterEach(() => test.stop())

const ada = {
  ...{ username: 'ada', uid: 4123, gid: 4123, token: 'gt-hunter2' },
  ...{ groups: [{ name: 'ada', id: 4123 }, { name: 'staff' }], quota: { cpu: 2, memory: 8 } },
}
const lab = { options: { image_type: 'latest-weekly', size: ['medium'] }, env: { A_TOKEN: 'secret-of-env', TZ: 'UTC' } }

interface Files {
  readonly user?: unknown
  readonly lab?: unknown
  readonly blocks?: object
  readonly images?: object
}

async function render({ user = ada, lab: body = lab, blocks = {}, images = {} }: Files = {}, ...more: string[]) {
  const files = [
    ['--config', await test.config(images, blocks)],
    ['--user', await test.file('user.json', user)],
    ['--lab', await test.file('lab.json', body)],
  ]
  return test.run('render', ...files.flat(), ...more)
}

const objectsIn = (text: string) => parseAllDocuments(text).map(document => document.toJS() as KubeObject)

describe('skylab render', () => {
  it('prints all objects of the lab in the order of their creation', async () => {
    const { code, out, err } = await render()
    expect([code, err]).toEqual([0, ''])
    const objects = objectsIn(out)
    const kinds = objects.map(({ kind }) => kind)
    expect([kinds[0], kinds.at(-1)]).toEqual(['Namespace', 'Pod'])
    const others = ['ConfigMap', 'Secret', 'ResourceQuota', 'NetworkPolicy', 'Service']
    expect(new Set(kinds.slice(1, -1))).toEqual(new Set(others))
    expect(objects[0]!.metadata.name).toBe('nublado-ada')
    const image = `${test.registry.server.host}/some/lab:w_2026_02@${digest}`
    expect(objects.at(-1)).toMatchObject({
      spec: {
        containers: [{ image, resources: { limits: { cpu: '2', memory: '8Gi' } } }],
        securityContext: { runAsUser: 4123 },
      },
    })
  })

  it('masks secret values, unless --secrets is given', async () => {
    const blocks = { lab: { token: 'bearer' } }
    const { out } = await render({ blocks })
    expect(out).not.toMatch(/gt-hunter2|secret-of-env/)
    const secrets = objectsIn(out).filter(({ kind }) => kind === 'Secret')
    expect(secrets).toMatchObject([{ stringData: { token: '***' } }, { stringData: { A_TOKEN: '***' } }])
    const open = await render({ blocks }, '--secrets')
    expect(open.out).toMatch(/token: gt-hunter2/)
    expect(open.out).toMatch(/A_TOKEN: secret-of-env/)
  })

  it('describes copies of cluster objects in place of their contents', async () => {
    const blocks = {
      lab: {
        secrets: [
          { name: 'lab-secrets', key: 'db', as: 'database' },
          { name: 'pull', key: '.dockerconfigjson', pull: true },
        ],
        volumes: [{ name: 'tools', configMap: { name: 'lab-tools' } }],
        mounts: [{ volume: 'tools', path: '/opt/tools' }],
        provisioning: { image: 'example.org/homes:1' },
      },
    }
    const { code, out, err } = await render({ blocks }, '--secrets')
    expect([code, err]).toEqual([0, ''])
    const words = (text: string) => Buffer.from(text).toString('base64')
    expect(out).toContain(`database: ${words('<db of the Secret lab-secrets>')}`)
    expect(out).toContain(words('<.dockerconfigjson of the Secret pull>'))
    expect(out).toContain('<the files of the ConfigMap lab-tools>')
    expect(objectsIn(out).at(-1)).toMatchObject({ spec: { initContainers: [{ image: 'example.org/homes:1' }] } })
    const masked = (await render({ blocks })).out
    expect(masked).not.toContain(words('<db of the Secret lab-secrets>'))
    expect(masked).toContain('<the files of the ConfigMap lab-tools>')
  })

  it('prints the refusal that a create would get: for a system id, and for an administrator’s token', async () => {
    const refusal = async (user: object) => {
      const { code, err } = await render({ user: { ...ada, ...user }, blocks: { lab: { token: 'bearer' } } })
      return [code, err]
    }
    expect(await refusal({ gid: 100 })).toEqual([1, expect.stringMatching(/403:\n.*GID 100.*identity\.minGid/s)])
    expect(await refusal({ scopes: ['admin:jupyterlab'] })).toEqual([
      1,
      expect.stringMatching(/403:\n.*admin:jupyterlab/s),
    ])
  })

  it('needs no token', async () => {
    const { token: _, ...user } = ada
    const { code, out } = await render({ user, blocks: { lab: { token: 'bearer' } } }, '--secrets')
    expect(code).toBe(0)
    expect(out).toContain('<the token of the user>')
  })

  it('writes YAML that readers of YAML 1.1 read correctly', async () => {
    const { out } = await render({ lab: { ...lab, env: { ANSWER: 'yes', MODE: '0644' } } })
    expect(out).toMatch(/ANSWER: "yes"/)
    expect(out).toMatch(/MODE: "0644"/)
  })

  it('continues without a digest when the registry fails, and warns', async () => {
    const images = { registry: '127.0.0.1:9' }
    const { code, out, err } = await render({ images, lab: { options: { image_tag: 'w_2026_02' } } })
    expect(code).toBe(0)
    expect(err).toMatch(/^warning: the registry did not return the digest of an image: .*127\.0\.0\.1/)
    expect(objectsIn(out).at(-1)).toMatchObject({ spec: { containers: [{ image: '127.0.0.1:9/some/lab:w_2026_02' }] } })
  })

  it.each([
    [
      'a size over the quota',
      { lab: { options: { ...lab.options, size: 'large' } } },
      403,
      /options\.size: The size large/,
    ],
    ['a quota that forbids labs', { user: { ...ada, quota: { spawn: false } } }, 403, /Your quota does not allow labs/],
    ['no UID', { user: { username: 'ada' } }, 403, /You have no UID/],
    [
      'a tag that is not there',
      { lab: { options: { image_tag: 'w_1999_01' } } },
      422,
      /options\.image_tag: There is no/,
    ],
    [
      'an image that is kept from the user',
      { images: { restrictions: [{ tags: ['w_*'], groups: ['devs'] }] } },
      403,
      /options\.image_type: The image w_2026_02 is kept/,
    ],
    [
      'a registry that is away, with a type that only it knows',
      { images: { registry: '127.0.0.1:9' } },
      503,
      /the registry was not read yet/,
    ],
  ] as const)('prints the refusal of a create for %s, and exits 1', async (_, files, status, words) => {
    const { code, out, err } = await render(files)
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain(`the create would be answered ${status}:\n`)
    expect(err).toMatch(words)
  })

  it.each([
    ['user.json', { user: { ...ada, uid: 'many' } }, 'uid: '],
    ['user.json', { user: { ...ada, colour: 'blue' } }, 'colour: unknown key'],
    ['user.json', { user: '{' }, 'line 1, column '],
    ['lab.json', { lab: '{' }, 'the body is not well-formed JSON in UTF-8'],
    ['lab.json', { lab: { options: { colour: 'blue' } } }, 'options.colour: unknown key'],
    ['lab.json', { lab: { env: {} } }, 'options: is required'],
    ['lab.json', { lab: '{"options": {}, "options": {}}' }, 'options: the key is repeated'],
    ['skylab.yaml', { blocks: { lab: { defaultSize: 'huge' } } }, 'lab.defaultSize: is not in lab.sizes'],
    ['skylab.yaml', { blocks: { colour: 'blue' } }, 'colour: unknown key'],
  ])('names the file and its problem, and exits 2: %s, %j', async (name, files, words) => {
    const { code, out, err } = await render(files)
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(new RegExp(`${name.replace('.', '\\.')}:\\n`))
    expect(err).toContain(`  ${words}`)
  })

  it('names a missing file', async () => {
    const config = await test.config()
    const { code, err } = await test.run('render', '--config', config, '--user', '/nowhere.json', '--lab', config)
    expect([code, err]).toEqual([2, '/nowhere.json:\n  cannot be read (ENOENT)\n'])
  })
})
