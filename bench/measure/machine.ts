/** The machine of a result. */
import { availableParallelism, loadavg } from 'node:os'
import { round } from './statistics.ts'

const labsPerNode = 110

/** Nodes of KWOK for so many labs. */
export const nodesFor = (labs: number): number => Math.ceil(labs / labsPerNode)

/** Call it before the work, since the work is a load too. */
export const machine = (): object => ({
  cpus: availableParallelism(),
  node: process.version,
  load_before: round(loadavg()[0]!, 1),
})
