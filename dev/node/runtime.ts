import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeLayout } from '../image/layout.ts'
import { waitUntil } from '../process/api-client.ts'
import { attempt, run } from '../process/command.ts'
import { freePort } from '../process/ports.ts'
import { type ProcessSpec, startProcess } from '../process/process.ts'
import { assertRunning } from '../process/server.ts'
import type { Tools } from '../setup/setup.ts'
import { renderCniConfig } from './network.ts'

/** No registry has it: it is imported into containerd, and must never be collected. */
const pauseImage = 'pause.local/pause:1'

export const containerdSocket = (stateDir: string): string => join(stateDir, 'run', 'containerd.sock')

/** containerd's folder of registry settings, with a folder for each `host:port`. */
export const registryHosts = (stateDir: string): string => join(stateDir, 'etc', 'registries')

/** Makes containerd ask the run's registry for images of another one, such as `docker.io`. */
export function mirrorRegistry(stateDir: string, name: string, registry: string): void {
  const folder = join(registryHosts(stateDir), name)
  mkdirSync(folder, { recursive: true })
  const host = `[host."http://${registry}"]\ncapabilities = ["pull", "resolve"]\n`
  writeFileSync(join(folder, 'hosts.toml'), `server = "http://${registry}"\n\n${host}`)
}

/**
 * Root, state, socket, runc's root and network namespaces are below the state folder, so that this containerd does not
 * touch the machine's own.
 */
function renderContainerdConfig(stateDir: string, runc: string): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"'
  const runtime = `${cri}.containerd.runtimes.runc`
  const sections: Record<string, Record<string, string | number | boolean>> = {
    '': { version: 2, root: `${stateDir}/containerd`, state: `${stateDir}/run/containerd` },
    grpc: { address: containerdSocket(stateDir) },
    // The default would create /opt/containerd.
    'plugins."io.containerd.internal.v1.opt"': { path: `${stateDir}/containerd/opt` },
    [cri]: {
      sandbox_image: pauseImage,
      // Without CAP_SYS_RESOURCE a process cannot lower a score, and no sandbox would start:
      // "can't get final child's PID from pipe: EOF".
      restrict_oom_score_adj: true,
      netns_mounts_under_state_dir: true,
    },
    [`${cri}.cni`]: { bin_dir: '/usr/lib/cni', conf_dir: `${stateDir}/etc/cni` },
    // Settings of registries other than containerd's defaults: plain HTTP on loopback, TLS elsewhere.
    [`${cri}.registry`]: { config_path: registryHosts(stateDir) },
    [`${cri}.containerd`]: { default_runtime_name: 'runc' },
    [runtime]: { runtime_type: 'io.containerd.runc.v2' },
    [`${runtime}.options`]: { BinaryName: runc, Root: `${stateDir}/run/runc`, SystemdCgroup: false },
  }
  const render = ([name, values]: [string, object]) => {
    const lines = Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
    return `${name && `[${name}]\n`}${lines.join('')}`
  }
  return Object.entries(sections).map(render).join('\n')
}

export interface Runtime {
  /** `host:port` of the registry on loopback, by plain HTTP. */
  registry: string
  /** Resolves when containerd has the pause image, and the registry answers. */
  ready: Promise<void>
}

/** Starts containerd and a registry. */
export async function startRuntime(stateDir: string, tools: Tools, signal?: AbortSignal): Promise<Runtime> {
  mkdirSync(join(stateDir, 'run'), { recursive: true })
  for (const folder of [join(stateDir, 'etc', 'cni'), registryHosts(stateDir)]) mkdirSync(folder, { recursive: true })
  const config = join(stateDir, 'etc', 'containerd.toml')
  writeFileSync(config, renderContainerdConfig(stateDir, tools.program('runc')))
  writeFileSync(join(stateDir, 'etc', 'cni', '10-box.conflist'), renderCniConfig(stateDir))
  const args = ['--config', config, '--log-level', 'warn']
  await startProcess({ name: 'containerd', command: tools.program('containerd'), args, stateDir })
  const registry = await startRegistry(stateDir, tools)
  const ready = Promise.all([loadPauseImage(stateDir, tools, signal), registryAnswers(stateDir, registry, signal)])
  // Awaited later: until then a failure must not count as an unhandled rejection.
  ready.catch(() => {})
  return { registry, ready: ready.then(() => {}) }
}

async function startRegistry(stateDir: string, tools: Tools): Promise<string> {
  const registry = `127.0.0.1:${await freePort()}`
  await startProcess(registrySpec(stateDir, tools, 'registry', { addr: registry }))
  return registry
}

/** A registry with the cluster's images; `http` is the part of its settings with address and TLS. */
export function registrySpec(stateDir: string, tools: Tools, name: string, http: object): ProcessSpec {
  const config = join(stateDir, 'etc', `${name}.yaml`)
  const settings = {
    version: 0.1,
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(stateDir, 'registry') } },
    http,
  }
  writeFileSync(config, JSON.stringify(settings))
  return { name, command: tools.program('docker-registry'), args: ['serve', config], stateDir }
}

function registryAnswers(stateDir: string, registry: string, signal?: AbortSignal): Promise<void> {
  const ask = async () => (await fetch(`http://${registry}/v2/`, { signal: AbortSignal.timeout(1000) })).ok
  const check = () => assertRunning(stateDir, 'registry')
  return waitUntil(ask, { what: 'registry', limitMs: 60_000, signal, check })
}

/** The image of a pod's sandbox: Debian's catatonit, a static program that waits for signals and reaps orphans. */
async function loadPauseImage(stateDir: string, tools: Tools, signal?: AbortSignal): Promise<void> {
  const folder = join(stateDir, 'pause')
  const rootfs = join(folder, 'rootfs')
  mkdirSync(rootfs, { recursive: true, mode: 0o755 })
  copyFileSync(tools.program('catatonit'), join(rootfs, 'pause'))
  chmodSync(join(rootfs, 'pause'), 0o755)
  const config = { Entrypoint: ['/pause', '-P'], User: '65535:65535' }
  await writeLayout({ rootfs, out: join(folder, 'layout'), name: pauseImage, config })
  const archive = join(folder, 'image.tar')
  await run('tar', ['-C', join(folder, 'layout'), '-cf', archive, '.'], { signal })
  const ctr = ['--address', containerdSocket(stateDir), '--namespace', 'k8s.io']
  const answers = async () => (await attempt('ctr', [...ctr, 'version'], { signal, timeoutMs: 5000 })) !== null
  const check = () => assertRunning(stateDir, 'containerd')
  await waitUntil(answers, { what: 'containerd', limitMs: 60_000, signal, check })
  await run('ctr', [...ctr, 'images', 'import', archive], { signal })
}
