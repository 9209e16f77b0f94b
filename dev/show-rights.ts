import { grantedRights, readRights, reportRights, served } from './kube/rights.ts'
import { runProgram } from './process/program.ts'

// Shows the rights that the last npm test, npm run faults and npm run demo -- --in-cluster used:  npm run rights
// Exits with 1 when none of them used some right.

await runProgram(async () => {
  const unused: string[] = []
  for (const what of served) {
    const usages = await readRights(what)
    if (what !== 'labs' && Object.keys(usages).length === 0) continue
    const report = reportRights(await grantedRights(what), usages)
    process.stdout.write(`The account of ${what}:\n${report.table}\n`)
    unused.push(...report.unused.map(right => (what === 'labs' ? right : `${right} (${what})`)))
  }
  if (unused.length === 0) return 0
  process.stderr.write(`Granted but never used: ${unused.join(', ')}\n`)
  return 1
})
