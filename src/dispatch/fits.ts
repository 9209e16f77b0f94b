/** Finds the types of machine that a container fits, as Arvados does. Pure. */
import type { MachineType, Need, Rules } from './types.ts'

/** Types that fit, cheapest first, or a sentence that names every type and what it lacks. */
export type Fit = { readonly types: readonly MachineType[] } | { readonly none: string }

type FitRules = Pick<Rules, 'maximumPriceFactor' | 'reserveExtraRamBytes'>

/** A machine of 4 GiB shows its programs less: so much of what is configured does not count. */
const ramShare = 0.95
const mib = 1024 * 1024

/** A type within `maximumPriceFactor` of the cheapest may serve where the cheapest cannot be had. */
export function fitOf(need: Need, types: readonly MachineType[], rules: FitRules): Fit {
  const fitting = types.filter(type => lacks(need, type, rules).length === 0).toSorted(byPrice)
  const [cheapest] = fitting
  if (!cheapest) return { none: noneSentence(need, types, rules) }
  return { types: fitting.filter(({ price }) => price <= cheapest.price * Math.max(1, rules.maximumPriceFactor)) }
}

/** For the same price the larger one, and the name at last, so that replicas agree. */
function byPrice(a: MachineType, b: MachineType): number {
  return (
    a.price - b.price ||
    b.ramBytes - a.ramBytes ||
    b.vcpus - a.vcpus ||
    b.scratchBytes - a.scratchBytes ||
    (a.name < b.name ? -1 : 1)
  )
}

/** The usable part of the configured memory, rounded up. */
export const usableRam = (ramBytes: number): number => Math.ceil(ramBytes * ramShare)

/** The configured memory that a type must have. */
export const neededRam = (need: Need, { reserveExtraRamBytes }: Pick<Rules, 'reserveExtraRamBytes'>): number =>
  Math.ceil((need.ramBytes + reserveExtraRamBytes) / ramShare)

function lacks(need: Need, type: MachineType, rules: FitRules): string[] {
  const found: string[] = []
  const ram = neededRam(need, rules)
  if (type.vcpus < need.vcpus) found.push(`${type.vcpus} of ${need.vcpus} VCPUs`)
  if (type.ramBytes < ram) found.push(`${Math.floor(type.ramBytes / mib)} of ${Math.ceil(ram / mib)} MiB of memory`)
  if (type.scratchBytes < need.scratchBytes) {
    found.push(`${Math.floor(type.scratchBytes / mib)} of ${Math.ceil(need.scratchBytes / mib)} MiB of scratch space`)
  }
  if (type.gpus < need.gpus) found.push(`${type.gpus} of ${need.gpus} GPUs`)
  if (type.preemptible !== need.preemptible) found.push(type.preemptible ? 'is preemptible' : 'is not preemptible')
  return found
}

function noneSentence(need: Need, types: readonly MachineType[], rules: FitRules): string {
  if (types.length === 0) return 'No type of machine is configured'
  const each = types.map(type => `${type.name}: ${lacks(need, type, rules).join(', ')}`)
  return `No type of machine fits. ${each.join('; ')}`
}
