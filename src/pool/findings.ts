/** Compares a listing of the cloud with the records. Listings lag: an absence proves nothing. Pure. */
import type { Instance, PreResource } from '../clouds/driver.ts'
import type { MachineBrief } from '../dispatch/container.ts'
import type { Tagging, Tags } from './tagging.ts'

export interface Findings {
  /** Machines of our set that no record has. */
  readonly strays: readonly Instance[]
  /** Records whose machine the listing does not have, or has as gone. */
  readonly unlisted: readonly MachineBrief[]
  /** Tags that somebody changed by hand. */
  readonly retag: readonly { readonly name: string; readonly instance: Instance }[]
}

/** @param briefs read after the listing, so that a machine which was made meanwhile has its record */
export function findingsOf(listed: readonly Instance[], briefs: readonly MachineBrief[], tagging: Tagging): Findings {
  const byInstance = new Map(briefs.filter(({ instance }) => instance !== '').map(brief => [brief.instance, brief]))
  const byName = new Map(briefs.map(brief => [brief.name, brief]))
  const strays: Instance[] = []
  const retag: Findings['retag'][number][] = []
  const seen = new Set<string>()
  for (const instance of listed) {
    if (instance.state === 'gone') continue
    seen.add(instance.id)
    if (!tagging.isOurs(instance.tags)) continue
    const brief = byInstance.get(instance.id)
    if (brief) {
      const isDue = instance.state !== 'stopping' && Object.keys(tagging.missingOf(instance.tags, brief)).length > 0
      if (isDue) retag.push({ name: brief.name, instance })
    } else if (!isBeingMade(byName.get(tagging.intentOf(instance.tags)))) strays.push(instance)
  }
  const unlisted = briefs.filter(({ instance, ending }) => instance !== '' && ending === '' && !seen.has(instance))
  return { strays, unlisted, retag }
}

/** Its keeper asks the cloud for it, and finds it. */
const isBeingMade = (brief: MachineBrief | undefined): boolean => brief?.instance === '' && brief.ending === ''

export interface OrphanAges {
  /** When this replica saw it first, by its own clock. */
  readonly firstSeenMs: ReadonlyMap<string, number>
  readonly monotonicMs: number
  readonly wallMs: number
  readonly oldMs: number
}

/** Resources that were made before a machine that never came: old, of our set, and not needed by its keeper any more. */
export function leftovers(
  orphans: readonly PreResource[],
  briefs: readonly MachineBrief[],
  tagging: Tagging,
  { firstSeenMs, monotonicMs, wallMs, oldMs }: OrphanAges,
): PreResource[] {
  const being = new Set(briefs.filter(isBeingMade).map(({ name }) => name))
  const isOld = ({ id, createdMs }: PreResource) =>
    createdMs !== undefined ? wallMs - createdMs > oldMs : monotonicMs - (firstSeenMs.get(id) ?? monotonicMs) > oldMs
  const isOurs = (tags: Tags) => tagging.isOurs(tags) && !being.has(tagging.intentOf(tags))
  return orphans.filter(orphan => isOurs(orphan.tags) && isOld(orphan))
}
