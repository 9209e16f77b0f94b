import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { copied } from './controlled.ts'
import { beside } from './program.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
const isCopied = (path: string) => copied.some(part => path === part || path.startsWith(`${part}/`))

test('copied names the files that the modules of replicas import when a source without guards is built', async () => {
  const modules = ['src/main.ts', ...Object.values(beside), 'test/kit/reconcile/sample-main.ts']
  const { metafile } = await build({
    absWorkingDir: checkout,
    entryPoints: modules,
    outdir: 'unwritten',
    write: false,
    metafile: true,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    loader: { '.md': 'text' },
    logLevel: 'silent',
  })
  const imported = Object.keys(metafile.inputs)
  expect(imported).toEqual(expect.arrayContaining(['src/store/connection.ts', 'test/kit/failpoints/arms.ts']))
  expect(imported.filter(path => !isCopied(path))).toEqual([])
})
