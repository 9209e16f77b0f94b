/** Benchmarks: each prints one line `RESULT {json}` with its conditions.  npm run bench -- NAME [options] */

import { runProgram } from '../dev/process/program.ts'
import { createProgress } from '../dev/process/progress.ts'
import { allBenches } from './all.ts'
import { benches, isBench } from './benches.ts'

await runProgram(async signal => {
  const [name = '', ...args] = process.argv.slice(2)
  const bench = name === 'all' ? allBenches : isBench(name) ? benches[name] : undefined
  if (!bench) {
    process.stderr.write(`usage: npm run bench -- ${Object.keys(benches).join('|')}|all [options]\n`)
    return 2
  }
  const result = await bench(args, createProgress(), signal)
  process.stdout.write(`RESULT ${JSON.stringify(result)}\n`)
  return 0
})
