/** For tests: the commands of a keeper, over the record of a site in memory. */
import { type MachineBrief, sentOf } from '../../dispatch/container.ts'
import type { Entry, Listed } from '../../dispatch/protocol.ts'
import { type MachineChanges, MachineGone, type Told } from '../../store/dispatch/keeping.ts'
import type { Site } from './site.ts'

export function keepingOf(site: Site) {
  const kept = () => {
    if (!site.brief) throw new MachineGone('gone')
    return site.brief
  }
  const without = (of: string): MachineBrief => ({
    ...kept(),
    containers: kept().containers.filter(({ uuid }) => uuid !== of),
  })
  const read = async () => ({ brief: kept(), facts: site.facts, cancelled: site.cancelled, nowMs: Date.now() })
  const keep = async (_: unknown, { hostKey, place, asked, probed, missing, ...more }: MachineChanges) => {
    site.facts = { ...site.facts, ...(hostKey !== undefined && { hostKey }), ...(place !== undefined && { place }) }
    if (site.isTaken && more.instance) return { answer: 'taken' as const }
    const isHeld = more.ending && kept().ending === '' && kept().idleBehavior === 'hold' && kept().instance !== ''
    if (isHeld) return { answer: 'held' as const, brief: kept() }
    const running = more.state === 'idle' && sentOf(kept()).length > 0 ? { state: 'running' as const } : {}
    site.brief = { ...kept(), ...(more as Partial<MachineBrief>), ...running }
    if (probed) {
      site.brief = { ...kept(), probedMs: Date.now() }
      site.log.push('probed')
    }
    if (asked) site.log.push('asked what it runs')
    return { answer: 'kept' as const, brief: site.brief }
  }
  const send = async (_: unknown, of: string) => {
    const its = kept().containers.find(each => each.uuid === of)
    if (!its) return { answer: 'changed' as const }
    const run = its.run || site.nextRun
    site.brief = { ...without(of), state: 'running' }
    site.brief = { ...site.brief, containers: [...site.brief.containers, { ...its, run }] }
    return { answer: 'send' as const, run, owner: 'ada', waitedMs: site.waitedMs, view: {} as never, sealedSpec: '' }
  }
  const tell = async (_: unknown, of: string, ___: number, told: Told) => {
    await site.onTell()
    site.told.push(told)
    site.log.push(`told ${told.what}`)
    if (told.what === 'running') return 'told' as const
    site.brief = without(of)
    if (sentOf(site.brief).length === 0) site.brief = { ...site.brief, state: 'idle' }
    return 'told' as const
  }
  return {
    ...{ read, keep, send, tell },
    appendLog: async (_: unknown, __: string, ___: number, entries: readonly (readonly [number, Entry])[]) => {
      site.log.push(`logged ${entries.map(([seq]) => seq).join(' ')}`)
      return entries.at(-1)![0]
    },
    adopt: async (_: unknown, { uuid: of }: Listed, most?: number) => {
      site.log.push(`adopted ${of}`)
      return site.onAdopt(of, most)
    },
    floor: async (_: unknown, epoch: number) => {
      site.log.push(`floored ${epoch}`)
      return epoch < 1_000
    },
    gone: async () => {
      site.log.push('gone')
      site.brief = undefined
    },
  }
}
