/** Benchmarks: each prints one line `RESULT {json}` with its conditions.  npm run bench -- NAME [options] */

import { runProgram } from '../dev/process/program.ts'
import { createProgress } from '../dev/process/progress.ts'
import { churnBench } from './churn/churn.ts'
import { heirsBench } from './heirs/heirs.ts'
import { hubBench } from './hub/hub.ts'
import { idleBench } from './idle/idle.ts'
import { imagesBench } from './images/images.ts'
import { readersBench } from './readers/readers.ts'
import { spawnBench } from './spawn/spawn.ts'
import { stormBench } from './storm/storm.ts'
import { worstBench } from './worst/worst.ts'

const benches = {
  spawn: spawnBench,
  churn: churnBench,
  storm: stormBench,
  idle: idleBench,
  heirs: heirsBench,
  readers: readersBench,
  images: imagesBench,
  hub: hubBench,
  worst: worstBench,
}

await runProgram(async signal => {
  const [name = '', ...args] = process.argv.slice(2)
  const bench = Object.hasOwn(benches, name) ? benches[name as keyof typeof benches] : undefined
  if (!bench) {
    process.stderr.write(`usage: npm run bench -- ${Object.keys(benches).join('|')} [options]\n`)
    return 2
  }
  const result = await bench(args, createProgress(), signal)
  process.stdout.write(`RESULT ${JSON.stringify(result)}\n`)
  return 0
})
