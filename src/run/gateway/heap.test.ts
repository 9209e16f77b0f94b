import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** Resolves with what a program prints that is run with options of V8. */
async function outputOf(program: string, how: string, v8: readonly string[]): Promise<string> {
  const args = [...v8, '--input-type=module', '--eval', program, '--', how]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 })
  return stdout
}

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
  const stdout = await outputOf(program, how, ['--max-semi-space-size=8'])
  return (JSON.parse(stdout) as { whole: number }).whole
}

test('long bodies do not have the whole heap collected when it may grow', async () => {
  const [grown, usual] = await Promise.all([collections('grows'), collections('as V8 does')])
  // The first one makes room for what is alive.
  expect(grown).toBeLessThanOrEqual(2)
  expect(usual).toBeGreaterThanOrEqual(6)
})

/** Makes young objects, of which some live. V8 tells of each collection. */
const youngProgram = `
  import { collectYoungAlone } from ${JSON.stringify(new URL('./heap.ts', import.meta.url).href)}
  if (process.argv[1] === 'alone') collectYoungAlone()
  let alive = []
  for (let i = 0; i < 2_000_000; i++) {
    const made = { i, list: [i] }
    if (i % 10 === 0) alive.push(made)
    if (i % 100_000 === 0) alive = []
  }
`

/** Milliseconds in which other threads have collected young objects. */
async function collectedByOthers(how: 'alone' | 'as V8 does'): Promise<number> {
  const stdout = await outputOf(youngProgram, how, ['--max-semi-space-size=1', '--trace-gc-nvp'])
  const each = [...stdout.matchAll(/ gc=s .* background\.scavenge\.parallel=([\d.]+)/g)]
  expect(each.length).toBeGreaterThan(20)
  return each.reduce((sum, [, ms]) => sum + Number(ms), 0)
}

test('the main thread collects young objects when it is to do so alone', async () => {
  const [alone, usual] = await Promise.all([collectedByOthers('alone'), collectedByOthers('as V8 does')])
  expect(alone).toBe(0)
  expect(usual).toBeGreaterThan(0)
})

/** First all that one place of the code makes stays, as tables do. Then what it makes goes again, as requests do. */
const learningProgram = `
  import { beginYoung } from ${JSON.stringify(new URL('./heap.ts', import.meta.url).href)}
  if (process.argv[1] === 'young') beginYoung()
  class Made {
    constructor(i) {
      this.list = [i, i, i, i]
      this.more = { i }
    }
  }
  const tables = []
  for (let round = 0; round < 40; round++) for (let i = 0; i < 20_000; i++) tables.push(new Made(i))
  const open = new Array(64)
  for (let i = 0; i < 4_000_000; i++) {
    const made = new Made(i)
    made.list.push({ body: new Array(16).fill(i) })
    open[i & 63] = made
  }
  globalThis.kept = [tables, open]
`

/** Collections of the whole heap. */
async function wholeCollections(how: 'young' | 'as V8 does'): Promise<number> {
  // V8 learns in compiled code. On a busy machine its compilers would come too late.
  const v8 = ['--no-concurrent-recompilation', '--max-semi-space-size=2', '--trace-gc']
  const stdout = await outputOf(learningProgram, how, v8)
  return [...stdout.matchAll(/Mark-Compact/g)].length
}

test('objects that go soon are collected young when all begin young, whatever V8 has learnt of their place', async () => {
  const [young, usual] = await Promise.all([wholeCollections('young'), wholeCollections('as V8 does')])
  expect(young).toBeLessThanOrEqual(2)
  expect(usual).toBeGreaterThanOrEqual(4)
})

/** Compiles a function that makes requests, of which none is left. V8 collects the heap some 8 s later, as in a quiet time. */
const quietProgram = `
  import { PerformanceObserver, constants } from 'node:perf_hooks'
  import { keepCode } from ${JSON.stringify(new URL('./heap.ts', import.meta.url).href)}
  if (process.argv[1] === 'kept') keepCode()
  const open = { last: undefined }
  class Request { constructor(i) { this.a = i } }
  function carry(i) {
    const request = new Request(i)
    request.isAnswered = true
    open.last = request
    return request.a
  }
  const isCompiled = () => (%GetOptimizationStatus(carry) & 16) !== 0;
  %PrepareFunctionForOptimization(carry);
  for (let i = 0; i < 10; i++) {
    carry(i)
    open.last = undefined
  }
  %OptimizeFunctionOnNextCall(carry);
  carry(1)
  open.last = undefined
  const before = isCompiled()
  const timer = setInterval(() => {}, 1000)
  const observer = new PerformanceObserver(list => {
    if (!list.getEntries().some(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR)) return
    clearInterval(timer)
    observer.disconnect()
    console.log(JSON.stringify({ before, after: isCompiled() }))
  })
  let garbage = Array.from({ length: 300_000 }, (_, i) => ({ i, list: [i] }))
  garbage = undefined
  observer.observe({ entryTypes: ['gc'] })
`

/** Whether the function is compiled before the collection of a quiet time, and after it. */
async function compiled(how: 'kept' | 'as V8 does'): Promise<unknown> {
  // With the first V8 need not know that allocations have become rare, which takes it 100 s.
  const v8 = ['--optimize-for-size', '--allow-natives-syntax', '--no-concurrent-recompilation']
  return JSON.parse(await outputOf(quietProgram, how, v8))
}

test('compiled code stays when a quiet time follows', { timeout: 60_000 }, async () => {
  const [kept, usual] = await Promise.all([compiled('kept'), compiled('as V8 does')])
  expect(kept).toEqual({ before: true, after: true })
  expect(usual).toEqual({ before: true, after: false })
})
