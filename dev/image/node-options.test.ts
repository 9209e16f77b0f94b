import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { run } from '../process/command.ts'
import { nodeEnv } from './node-options.ts'

const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')

test('the image starts Node with the environment of the replicas in tests, and without other options', () => {
  const [, entrypoint] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? []
  expect(JSON.parse(entrypoint!)).toEqual(['/usr/local/bin/node', '/skylab/dist/main.mjs'])
  const lines = [...dockerfile.matchAll(/^ENV (.*)$/gm)].map(([, line]) => line)
  const pairs = lines.join(' ').match(/\w+=("[^"]*"|\S+)/g)
  expect(parseEnv(pairs!.join('\n'))).toEqual({
    NODE_ENV: 'production',
    NODE_COMPILE_CACHE: '/skylab/compiled',
    ...nodeEnv,
  })
})

test('NODE_OPTIONS sets the heap, and a higher value of an operator is used', async () => {
  const script = 'console.log(require("node:v8").getHeapStatistics().heap_size_limit)'
  const heapOf = async (env: NodeJS.ProcessEnv) =>
    Number(await run(process.execPath, ['--eval', script], { env })) / 2 ** 20
  expect(await heapOf(nodeEnv)).toBeCloseTo(512 + 3 * 8, 0)
  const raised = nodeEnv.NODE_OPTIONS!.replace('512', '1024')
  expect(await heapOf({ ...nodeEnv, NODE_OPTIONS: raised })).toBeCloseTo(1024 + 3 * 8, 0)
})

test('malloc gives large blocks back when small ones stay between them', async () => {
  // Buffers are freed by another thread.
  const script = `
    const mib = () => process.memoryUsage().rss / 2 ** 20
    const before = mib()
    const kept = []
    let large = [Buffer.alloc(24 << 20, 1)]
    large = []
    gc()
    for (let i = 0; i < 48; i++) large.push(Buffer.alloc(1 << 20, 1)), kept.push(Buffer.alloc(64 << 10, 1))
    large = []
    gc()
    let polls = 0
    const timer = setInterval(() => {
      const left = mib() - before
      if (left > 16 && ++polls < 100) return
      clearInterval(timer)
      console.log(left, kept.length)
    }, 20)`
  const printed = await run(process.execPath, ['--expose-gc', '--eval', script], { env: nodeEnv })
  expect(Number.parseFloat(printed)).toBeLessThan(16)
})
