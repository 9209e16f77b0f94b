/**
 * Bundles the program for the image, modules and packages in a few files: `npm run build`. It starts in a third of the
 * time of the source with all its packages, and needs 70 MB less. The Dockerfile runs only this file.
 */
import { cpSync, existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile, type Plugin } from 'esbuild'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const entries = { main: 'src/main.ts', serve: 'src/run/serve.ts' }
/** For machines of a cloud: one file, which they get with the image's Node (docs/dispatch-machines.md). */
const runner = { file: 'runner.cjs', entry: 'src/runner/main.ts' }
/** Files that modules read at run time, from the folder beside them. */
const besideModules = ['src/store/commands', 'src/api/document/page']
/**
 * Packages in CommonJS load Node's modules by `require`, which ES modules do not have. esbuild knows of no name that a banner
 * declares, so there must be no other one: a module of ours could have it too.
 */
export const require = `const require = globalThis.process.getBuiltinModule('node:module').createRequire(import.meta.url);`
/** In place of tsconfig.json, which the image's build does not have: the same source gives the same files there. */
const tsconfigRaw = { compilerOptions: { strict: true, verbatimModuleSyntax: true } }

export interface BundleOptions {
  /** The folder for the new `dist`; it must not have one yet. */
  readonly dir: string
  /** The root of the source. Default: this checkout's. */
  readonly root?: string | undefined
  /** More entry modules by name: `<name>.mjs` shares its modules with the program. */
  readonly beside?: Readonly<Record<string, string>>
  /** Path for esbuild's metafile, as JSON; default: not written. */
  readonly account?: string | undefined
  /** Whether a source map is written beside each file (`<file>.map`), for profiles. Default false. */
  readonly maps?: boolean
}

/**
 * Makes the program in the folder `dist` of `dir`. @returns path of its `main.mjs`
 * @throws when esbuild fails
 */
export async function bundle(options: BundleOptions): Promise<string> {
  const { dir, root = checkout, beside = {}, account, maps = false } = options
  const dist = join(dir, 'dist')
  const { metafile } = await build({
    metafile: true,
    tsconfigRaw,
    absWorkingDir: root,
    entryPoints: { ...entries, ...beside },
    outdir: dist,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    outExtension: { '.js': '.mjs' },
    // jsonc-parser: esbuild cannot follow the `require` calls of its main file. The others: modules let esbuild drop unused code.
    alias: {
      'jsonc-parser': 'jsonc-parser/lib/esm/main.js',
      graphql: 'graphql/index.mjs',
      '@aws-sdk/client-ec2': '@aws-sdk/client-ec2/dist-es/index.js',
    },
    ...forSsh2,
    banner: { js: require },
    plugins: [thinClient, thinUndici],
    // V8 keeps the text of every file: without indentation it takes a quarter less. Lines stay short for stack traces.
    minifyWhitespace: true,
    lineLimit: 160,
    sourcemap: maps && 'external',
    logLevel: 'warning',
  })
  const ofRunner = await bundleRunner(root, dist)
  if (account) {
    const outputs = { ...metafile.outputs, ...ofRunner.outputs }
    writeFileSync(account, JSON.stringify({ inputs: { ...metafile.inputs, ...ofRunner.inputs }, outputs }))
  }
  for (const folder of besideModules)
    cpSync(join(root, folder), join(dist, folder.split('/').at(-1)!), { recursive: true })
  // The unbundled files (of the API's page) are found as packages.
  const packages = join(dir, 'node_modules')
  if (!existsSync(packages)) symlinkSync(join(checkout, 'node_modules'), packages)
  return join(dist, 'main.mjs')
}

/**
 * It does without its native parts, and catches the failure of their `require`. It names files by `__dirname` that it does not read
 * here: its WebAssembly is in its text.
 */
export const forSsh2 = { external: ['cpu-features', '*.node'], define: { __dirname: '"/"' } }

/** Makes `runner.cjs` in a folder. CommonJS: it starts 10 ms sooner than a module. */
export async function bundleRunner(root: string, dist: string): Promise<Metafile> {
  const { metafile } = await build({
    ...{ metafile: true, absWorkingDir: root, entryPoints: [runner.entry], outfile: join(dist, runner.file) },
    tsconfigRaw,
    // Names of packages' files are in it: they must not depend on where a link to the packages leads.
    preserveSymlinks: true,
    ...{ bundle: true, platform: 'node', format: 'cjs', target: 'node24' },
    ...{ minifyWhitespace: true, lineLimit: 160, logLevel: 'warning', ...forSsh2 },
  })
  return metafile
}

/** Keeps one class of the Kubernetes client. Thousands of others only set their own properties: no side effect. */
const thinClient: Plugin = {
  name: 'thin-client',
  setup({ onResolve }) {
    // Its modules import each other by file, so no lookup is needed.
    onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) =>
      /@kubernetes[/\\]client-node[/\\]/.test(resolveDir)
        ? { path: join(resolveDir, path), sideEffects: false }
        : undefined,
    )
  },
}

/**
 * The parts of undici that the program uses, and the effects of its main file. That file loads all parts, such as caches
 * and WebSockets; V8 would keep their text, 0.6 MB. The import of any other name fails the build. `fetch` is for requests of
 * the Kubernetes client, which the program sends itself.
 */
const usedOfUndici = `
import 'undici/lib/global.js'
import api from 'undici/lib/api/index.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
Object.assign(Dispatcher.prototype, api)
export { default as Agent } from 'undici/lib/dispatcher/agent.js'
export { default as Pool } from 'undici/lib/dispatcher/pool.js'
export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js'
export const { fetch } = globalThis
`

const madeModule = { path: 'undici', namespace: 'used' }
/** The only input of the bundle that is not a file; this file has its text. */
export const madeInput = `${madeModule.namespace}:${madeModule.path}`

const thinUndici: Plugin = {
  name: 'thin-undici',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, () => madeModule)
    onLoad({ filter: /.*/, namespace: madeModule.namespace }, () => ({ contents: usedOfUndici, resolveDir: checkout }))
  },
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle({ dir: checkout, account: process.argv[2] })
