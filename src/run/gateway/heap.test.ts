import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** Bodies of 1 GiB pass beside a heap of 40 MB. Prints how often the whole heap was collected meanwhile. */
const program = `
  import { PerformanceObserver, constants } from 'node:perf_hooks'
  import { letHeapGrow } from ${JSON.stringify(new URL('./heap.ts', import.meta.url).href)}
  if (process.argv[1] === 'grows') letHeapGrow()
  const alive = Array.from({ length: 400_000 }, (_, i) => ({ i, list: [i] }))
  let whole = 0
  const count = entries => {
    whole += entries.filter(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR).length
  }
  const observer = new PerformanceObserver(list => count(list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })
  for (let i = 0; i < 32; i++) {
    for (let j = 0; j < 512; j++) Buffer.allocUnsafeSlow(65_536)
    await new Promise(resolve => setImmediate(resolve))
  }
  count(observer.takeRecords())
  console.log(JSON.stringify({ whole, alive: alive.length }))
`

async function collections(how: 'grows' | 'as V8 does'): Promise<number> {
  const args = ['--max-semi-space-size=8', '--input-type=module', '--eval', program, '--', how]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return (JSON.parse(stdout) as { whole: number }).whole
}

test('long bodies do not have the whole heap collected when it may grow', async () => {
  const [grown, usual] = await Promise.all([collections('grows'), collections('as V8 does')])
  // The first one makes room for what is alive.
  expect(grown).toBeLessThanOrEqual(2)
  expect(usual).toBeGreaterThanOrEqual(6)
})
