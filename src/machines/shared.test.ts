/** A keeper with several containers on one machine. `testing/site.ts` plays Redis, the cloud and the runner. */
import { expect, test } from 'vitest'
import { booted, container, end, ended, until } from './testing/life.ts'
import { Site, uuid } from './testing/site.ts'

const other = 'clust-dz642-000000000000002'
const sent = (of: string, run: number) => ({ ...container, uuid: of, run })
const both = () => new Site({ ...booted, containers: [sent(uuid, 100), sent(other, 110)] })

test('each container of a machine is started, and each once over a channel', async () => {
  const site = both()
  const life = site.live('serve')
  await until(() => site.log).toContain('started 110')
  site.say(1, { kind: 'running', atMs: 1 }, 100)
  await until(() => site.log).toContain('acknowledged 1')
  site.ring()
  await until(() => site.log.filter(each => each.startsWith('started'))).toEqual(['started 100', 'started 110'])
  await end(site, life)
})

test('the end of one leaves the machine to the others', async () => {
  const site = both()
  const life = site.live('serve')
  await until(() => site.log).toContain('started 110')
  site.say(1, ended, 100)
  await until(() => site.brief?.containers).toEqual([sent(other, 110)])
  expect(site.brief).toMatchObject({ ending: '', broken: '' })
  expect(site.log.some(each => each.startsWith('killed'))).toBe(false)
  await end(site, life)
})

test('one that is cancelled is killed alone', async () => {
  const site = both()
  site.cancelled = new Map([[other, 'asked for']])
  const life = site.live('serve')
  await until(() => site.log).toContain(`killed ${other}`)
  await until(() => site.log).toContain('started 100')
  expect(site.log).not.toContain('killed 100')
  await end(site, life)
})

test('one that does not end makes its machine broken, and ends it only after the others', async () => {
  const site = both()
  site.cancelled = new Map([[other, 'asked for']])
  const life = site.live('serve')
  await until(() => site.brief?.broken).toBe('a container does not end')
  expect(site.brief?.ending).toBe('')
  site.say(1, ended, 100)
  await until(() => site.brief?.ending).toBe('a container does not end')
  site.end()
  await life
})

test('one that the machine lacks is started again beside what runs there, where there is room', async () => {
  const site = new Site({ ...booted, containers: [sent(uuid, 100)] })
  site.listed = [{ uuid: other, run: 90, seal: 's' } as never]
  site.onAdopt = () => 'adopted'
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  expect(site.told).toEqual([])
  await end(site, life)
})
