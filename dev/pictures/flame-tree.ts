/** Merges CPU profiles of V8 into one tree of frames, in milliseconds of processor time. Pure. */
import type { CallFrame, SourcePlace } from './source-names.ts'

/** A `.cpuprofile` file of `bench/measure/profiler.ts`. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: CallFrame
    readonly children?: readonly number[]
  }[]
  /** The node of each sample, and the microseconds since the sample before. */
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
  /** Processor time of all threads, and of the profiled one. */
  readonly cpuMs: { readonly all: number; readonly main: number }
}

export interface Frame {
  readonly name: string
  /** File of the source, package, module of Node, or `native`. */
  readonly place: string
  /** Time in this frame itself. */
  selfMs: number
  /** Time in this frame and those above it. */
  totalMs: number
  readonly children: Map<string, Frame>
}

/** The module that starts and ends the profile. */
const profilerUrl = 'node:inspector'
/** Calls all continuations: as a frame it would hide whose they are. */
const trunk: readonly string[] = ['processTicksAndRejections', 'runMicrotasks']

type Place = (frame: CallFrame) => SourcePlace

const frameOf = (name: string, place: string): Frame => ({ name, place, selfMs: 0, totalMs: 0, children: new Map() })

/**
 * Merges the profiles of some processes. A sample counts for its share of the profiled thread's processor time: V8 takes
 * samples also while the thread waits for a processor. The other threads, which have no samples, are one frame.
 * @param labs the times are divided by this
 */
export function mergeProfiles(profiles: readonly CpuProfile[], labs: number, place: Place): Frame {
  const root = frameOf('replicas', 'all')
  const others = frameOf('other threads: V8, sockets, files', 'native')
  for (const profile of profiles) {
    addProfile(root, profile, profile.cpuMs.main / labs, place)
    others.selfMs += (profile.cpuMs.all - profile.cpuMs.main) / labs
  }
  root.children.set('', others)
  addUp(root)
  return root
}

function addProfile(root: Frame, { nodes, samples, timeDeltas }: CpuProfile, mainMs: number, place: Place): void {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const spent = new Map<number, number>()
  for (const [index, id] of samples.entries()) spent.set(id, (spent.get(id) ?? 0) + Math.max(0, timeDeltas[index]!))
  const isLeftOut = (id: number) => {
    const { functionName, url } = byId.get(id)!.callFrame
    return functionName === '(idle)' || url === profilerUrl
  }
  const busy = [...spent].filter(([id]) => !isLeftOut(id)).reduce((sum, [, micros]) => sum + micros, 0)
  const add = (id: number, parent: Frame): void => {
    const { callFrame, children = [] } = byId.get(id)!
    if (callFrame.functionName !== '(root)' && !isLeftOut(id)) {
      const frame = childOf(parent, callFrame, place(callFrame))
      frame.selfMs += ((spent.get(id) ?? 0) / busy) * mainMs
      if (parent !== root || !trunk.includes(callFrame.functionName)) parent = frame
    }
    for (const child of children) add(child, parent)
  }
  add(nodes[0]!.id, root)
}

/** Frames of a package, or of Node, that call each other are one. */
function childOf(parent: Frame, { functionName }: CallFrame, { place, line }: SourcePlace): Frame {
  const isOwn = place.includes('.ts')
  const isNative = place === 'native'
  const group = (each: string) => (each.startsWith('node:') ? 'node' : each)
  if (!isOwn && !isNative && group(place) === group(parent.place)) return parent
  const name = isOwn || isNative ? functionName || `line ${line}` : ''
  const key = `${name} ${place}`
  const known = parent.children.get(key)
  if (known) return known
  const made = frameOf(name, place)
  parent.children.set(key, made)
  return made
}

function addUp(frame: Frame): number {
  frame.totalMs = frame.selfMs
  for (const child of frame.children.values()) frame.totalMs += addUp(child)
  return frame.totalMs
}

/** Time in frames of each kind themselves, longest first. */
export function selfBy(root: Frame, kindOf: (frame: Frame) => string): readonly (readonly [string, number])[] {
  const sums = new Map<string, number>()
  const add = (frame: Frame): void => {
    sums.set(kindOf(frame), (sums.get(kindOf(frame)) ?? 0) + frame.selfMs)
    for (const child of frame.children.values()) add(child)
  }
  add(root)
  return [...sums].filter(([, ms]) => ms > 0).toSorted((a, b) => b[1] - a[1])
}
