import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { imageList } from '../api/images/schemas.ts'
import { CommandTest } from './testing/command.ts'

let test: CommandTest
beforeEach(async () => {
  test = await CommandTest.start()
})
afterEach(() => test.stop())

describe('skylab images', () => {
  it('prints the answer of GET …/images with --json', async () => {
    const { registry } = test
    const digest = registry.push('w_2026_02', 5)
    registry.manifests.set('recommended', registry.manifests.get('w_2026_02')!)
    registry.tags.push('recommended')
    const older = registry.push('d_2026_01_12', 7)
    const { code, out, err } = await test.run('images', '--config', await test.config(), '--json')
    expect([code, err]).toEqual([0, ''])
    const body = JSON.parse(out)
    expect(imageList.strict().parse(body)).toEqual(body)
    const at = `${registry.server.host}/some/lab`
    expect(body).toMatchObject({
      recommended: { reference: `${at}:recommended`, tag: 'recommended', digest, prepulled: false },
      'latest-weekly': { reference: `${at}:w_2026_02`, digest, aliases: ['recommended'], name: 'Weekly 2026_02' },
      'latest-daily': { digest: older },
      all: expect.arrayContaining([expect.objectContaining({ tag: 'd_2026_01_12' })]),
    })
    expect(Object.keys(body)).not.toContain('latest-release')
  })

  it('prints tables without --json', async () => {
    const digest = test.registry.push('w_2026_02')
    test.registry.push('odd')
    const { code, out } = await test.run('images', '--config', await test.config({ numDailies: 0 }))
    expect(code).toBe(0)
    const short = digest.slice(0, 19)
    expect(out).toContain(`${test.registry.server.host}/some/lab: 2 images\n`)
    expect(out).toMatch(
      new RegExp(`^TYPE +TAG +NAME +DIGEST +ALIASES\\nrecommended +w_2026_02 +Weekly 2026_02 +${short}$`, 'm'),
    )
    expect(out).toMatch(new RegExp(`^PREPULLED +NAME +DIGEST +ALIASES\\nw_2026_02 +Weekly 2026_02 +${short}$`, 'm'))
    expect(out).toMatch(/^ALL +NAME +DIGEST +ALIASES\nw_2026_02 .*\nodd +odd +-$/m)
    expect(out).not.toMatch(/ $/m)
  })

  it('warns on stderr of missing tags of the configuration, and exits 0', async () => {
    test.registry.push('w_2026_02')
    const config = await test.config({ pins: ['w_2026_02', 'w_2025_99', 'w_2025_98', 'w_2025_99'] })
    const { code, out, err } = await test.run('images', '--config', config, '--json')
    const words = 'the registry lacks tags that the configuration names: recommended, w_2025_99, w_2025_98'
    expect([code, err]).toEqual([0, `warning: ${words}\n`])
    expect(JSON.parse(out)).toMatchObject({ recommended: { tag: 'w_2026_02' } })
  })

  it('needs only the block images', async () => {
    test.registry.push('w_2026_02')
    const config = await test.config({}, { identity: { provider: 'none' }, colour: 'blue', redis: 7 })
    expect((await test.run('images', '--config', config, '--json')).code).toBe(0)
  })

  it('sends the configured credentials to the registry, and to no other server', async () => {
    const { registry } = test
    registry.push('w_2026_02')
    registry.asks = 'basic'
    registry.tokens.users.set('ada', 'hunter2')
    const auths = { [registry.server.host]: { auth: Buffer.from('ada:hunter2').toString('base64') } }
    await test.file('docker.json', { auths })
    const config = await test.config({ credentialsFile: 'docker.json', recommendedTag: 'w_2026_02' })
    const { code, out, err } = await test.run('images', '--config', config)
    expect([code, err]).toEqual([0, ''])
    expect(out).not.toContain('hunter2')
  })

  it('reports an unreadable registry, and exits 1', async () => {
    test.registry.asks = 'basic'
    const { code, out, err } = await test.run('images', '--config', await test.config())
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^the registry cannot be read: .*127\.0\.0\.1/)
  })

  it.each([
    [{ numReleases: -1 }, /images\.numReleases: /],
    [{ colour: 'blue' }, /images\.colour: unknown key/],
    [
      { gar: { repository: 'a', image: 'b', projectId: 'c', location: 'd' } },
      /images\.gar: contradicts images\.docker/,
    ],
    [{ credentialsFile: 'nowhere.json' }, /images\.credentialsFile: the file cannot be read \(ENOENT\)/],
    [{ caFile: 'nowhere.pem' }, /images\.caFile: the file cannot be read \(ENOENT\)/],
  ])('names the problem in the block and exits 2: %j', async (images, words) => {
    const { code, out, err } = await test.run('images', '--config', await test.config(images))
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(words)
  })
})
