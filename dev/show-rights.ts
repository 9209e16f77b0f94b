import { grantedRights, readRights, reportRights } from './kube/rights.ts'
import { runProgram } from './process/program.ts'

// Shows the rights that the last npm test, npm run faults and npm run demo -- --in-cluster used:  npm run rights
// Exits with 1 when none of them used some right.

await runProgram(async () => {
  const { table, unused } = reportRights(await grantedRights(), await readRights())
  process.stdout.write(`${table}\n`)
  if (unused.length === 0) return 0
  process.stderr.write(`Granted but never used: ${unused.join(', ')}\n`)
  return 1
})
