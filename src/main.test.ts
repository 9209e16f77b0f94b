import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Settings } from './config/load.ts'
import { main } from './main.ts'

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
  it('says ok of a good file', async () => {
    expect(await run('check', '--config', join(folder, 'good.yaml'))).toMatchObject({
      code: 0,
      out: 'ok\n',
      served: [],
    })
  })

  it('names the key of a bad one and exits 2', async () => {
    const { code, out, err } = await run('check', '--config', join(folder, 'bad.yaml'))
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/bad\.yaml:\n {2}api\.colour: unknown key\n$/)
  })
})

describe('skylab serve', () => {
  it('serves with the settings', async () => {
    const { code, served } = await run('serve', '--config', join(folder, 'good.yaml'))
    expect(code).toBeUndefined()
    expect(served).toMatchObject([{ config: { api: { port: 8080 } } }])
  })

  it('does not begin with a bad file', async () => {
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
  [['images', '--config', 'x', '--secrets']],
  [['images', '--config', 'x', '--apply']],
  [['heal']],
  [['heal', '--config', 'x', '--secrets']],
  [['render', '--config', 'x', '--user', 'x']],
  [['toString', '--config', 'x']],
])('answers %j with the usage and exits 2', async args => {
  const { code, err } = await run(...args)
  expect(code).toBe(2)
  expect(err).toMatch(/^usage: skylab serve/)
})

it('tells its usage and version', async () => {
  expect(await run('--help')).toMatchObject({ code: 0, out: expect.stringMatching(/^usage/) })
  expect(await run('--version')).toMatchObject({ code: 0, out: expect.stringMatching(/^skylab \d+\.\d+\.\d+\n$/) })
})
