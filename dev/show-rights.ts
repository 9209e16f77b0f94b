import { grantedRights, readRights, reportRights } from './kube/rights.ts'
import { runProgram } from './process/program.ts'

// Which rights were used by the last npm test, npm run faults and npm run demo -- --in-cluster:  npm run rights
// Ends with 1 where there is one that none of them has used.

await runProgram(async () => {
  const { table, unused } = reportRights(await grantedRights(), await readRights())
  process.stdout.write(`${table}\n`)
  if (unused.length === 0) return 0
  process.stderr.write(`Granted, and never used: ${unused.join(', ')}\n`)
  return 1
})
