/** A lab with everything configured at once, on a real node: the configuration must hold inside the lab. */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { nodeName } from '../../dev/kube/credentials.ts'
import { run } from '../../dev/process/command.ts'
import { clusterFolder } from '../../dev/run/teardown.ts'
import type { ConfigInput } from '../../dev/stack/config.ts'
import type { PrepullsJson } from '../../src/api/images/json.ts'
import { prepullLabel } from '../../src/images/prepull/pull-set.ts'
import { AdminKube } from '../kit/cluster/kube.ts'
import { eventually } from '../kit/cluster/world.ts'
import { type Client, defaultOptions } from '../kit/fleet/client.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'
import { startDockerRegistry, withPassword } from '../kit/images/docker-registry.ts'
import { dockerConfig, passwordOf } from '../kit/images/source.ts'
import { testBed } from '../kit/testbed.ts'

const repository = 'lsstsqre/sciplat-lab'
/** The controller's namespace. */
const namespace = 'skylab'
const drawn = `everything-${randomBytes(4).toString('hex')}`
const names = { files: `${drawn}-files`, pull: `${drawn}-pull`, site: `${drawn}-site`, claim: `${drawn}-claim` }
const user = { uid: 5_100_000, gid: 5_100_000, quota: { cpu: 2, memory: '4Gi' } }
const home = '/home/a/ada'
const secretsPath = '/opt/lab/secrets'
/** The first pull unpacks a whole JupyterLab. */
const slowLimitMs = 120_000

const kubectl = (args: string[]) => run(testBed().kubectl, ['--kubeconfig', testBed().kubeconfig, ...args])

/** A registry with a password for the run's images: `host:port`, and the digest of the recommended image. */
async function startProtectedRegistry(context: TestContext) {
  const { images, stateDir } = testBed()
  const rootdirectory = join(clusterFolder(stateDir), 'registry')
  const storage = { filesystem: { rootdirectory } }
  const registry = await startDockerRegistry(file => ({ storage, ...withPassword(file) }))
  context.onTestFinished(() => registry.stop())
  const headers = { accept: 'application/vnd.oci.image.manifest.v1+json' }
  const url = `http://${images.registry}/v2/${repository}/manifests/recommended`
  const digest = (await fetch(url, { method: 'HEAD', headers })).headers.get('docker-content-digest')!
  return { address: registry.address, digest }
}

/** A folder of the node, removed with the test. */
function makeFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'skylab-everything-'))
  context.onTestFinished(() => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o755)
  for (const name of ['home', 'claim']) mkdirSync(join(folder, name), { mode: 0o755 })
  chmodSync(join(folder, 'claim'), 0o777)
  return folder
}

const volumesPath = '/api/v1/persistentvolumes'

/** Creates the objects that operators provide. */
async function provideSources(context: TestContext, address: string, folder: string): Promise<AdminKube> {
  const admin = new AdminKube(testBed().kubeconfig)
  context.onTestFinished(async () => {
    await Promise.all([names.files, names.pull].map(name => admin.delete('Secret', name, namespace)))
    await admin.delete('ConfigMap', names.site, namespace)
    await admin.request('DELETE', `${volumesPath}/${names.claim}`)
    admin.close()
  })
  const make = (kind: string, name: string, fields: object) =>
    admin.create({ apiVersion: 'v1', kind, metadata: { name, namespace }, ...fields })
  const login = dockerConfig(address, passwordOf('ada', 'secret-of-ada'))
  await make('Secret', names.files, { stringData: { 'butler.yaml': 'hunter2-of-the-butler\n' } })
  // The kubelet reads the Secret itself when it prepulls, so its type counts.
  const type = 'kubernetes.io/dockerconfigjson'
  await make('Secret', names.pull, { type, stringData: { '.dockerconfigjson': login } })
  await make('ConfigMap', names.site, { data: { 'read.me': 'welcome\n' } })
  const accessModes = ['ReadWriteOnce']
  const spec = { accessModes, capacity: { storage: '64Mi' }, hostPath: { path: join(folder, 'claim') } }
  const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: names.claim }, spec }
  expect((await admin.request('POST', volumesPath, volume)).status).toBe(201)
  return admin
}

const prepare = `
set -eu
mkdir -p "$SKYLAB_HOME" "/everything/projects/$SKYLAB_USER"
echo "$GREETING $SKYLAB_USER" >> "$SKYLAB_HOME/prepared"
echo plan > "/everything/projects/$SKYLAB_USER/plan"
chmod 0700 "$SKYLAB_HOME"
chown -R "$SKYLAB_UID:$SKYLAB_GID" "$SKYLAB_HOME" "/everything/projects/$SKYLAB_USER"
`

const size = { limits: { cpu: 1, memory: '2Gi' } }

function labOf(image: string, folder: string): NonNullable<ConfigInput['lab']> {
  return {
    sizes: { small: size, medium: size, large: size },
    env: { BOTH: 'of the configuration', SITE_PASSWORD: 'hunter2-of-the-site' },
    secrets: [
      { name: names.files, key: 'butler.yaml', as: 'butler' },
      { name: names.pull, key: '.dockerconfigjson', pull: true },
    ],
    token: 'bearer',
    secretsPath,
    volumes: [
      { name: 'node', hostPath: { path: folder, type: 'Directory' } },
      { name: 'scratch', emptyDir: { medium: 'memory', sizeLimit: '16Mi' } },
      { name: 'site', configMap: { name: names.site } },
      { name: 'motd', files: { motd: 'Welcome to the observatory.\n' } },
      {
        name: 'claim',
        persistentVolumeClaim: {
          storageClassName: '',
          accessModes: ['ReadWriteOnce'],
          size: '64Mi',
          volumeName: names.claim,
        },
      },
    ],
    mounts: [
      { volume: 'node', path: '/home', subPath: 'home' },
      { volume: 'node', path: '/project', subPath: 'projects/{username}', readOnly: true },
      { volume: 'scratch', path: '/scratch' },
      { volume: 'site', path: '/usr/share/site', readOnly: true },
      { volume: 'motd', path: '/etc/motd.d', readOnly: true },
      { volume: 'claim', path: '/claim' },
    ],
    tmp: { medium: 'memory', sizeLimit: '32Mi' },
    nss: {
      passwd: 'root:x:0:0:root:/root:/bin/bash\nvera:x:77:77::/home/vera:/bin/sh\n',
      group: 'root:x:0:\nvera:x:77:\n',
    },
    provisioning: {
      image,
      command: ['/bin/sh', '-c', prepare],
      env: { GREETING: 'hello' },
      runAsRoot: true,
      mounts: [{ volume: 'node', path: '/everything' }],
      resources: { limits: { cpu: 0.5, memory: '128Mi' }, requests: { cpu: 0.1, memory: '32Mi' } },
    },
    nodeSelector: { 'kubernetes.io/hostname': nodeName },
    tolerations: [{ key: 'example.org/labs-only', operator: 'Exists' }],
    annotations: { 'example.org/cost-centre': 'science' },
    homeScheme: 'initialThenUsername',
  }
}

/** Starts the fleet and prepulls the image with the pull secret. */
async function setTheScene(context: TestContext) {
  const folder = makeFolder(context)
  const { address, digest } = await startProtectedRegistry(context)
  const admin = await provideSources(context, address, folder)
  const images = {
    registry: address,
    docker: { repository },
    numReleases: 0,
    numWeeklies: 0,
    numDailies: 0,
    // A kubelet that has not read the pull secret in time pulls without it, and is refused.
    prepull: { retrySeconds: 1 },
  }
  const lab = labOf(`${address}/${repository}@${digest}`, folder)
  const kubernetes = { namespace }
  const fleet = await startFleet(context, { replicas: 2, people: { ada: user }, config: { images, lab, kubernetes } })
  const isThere = async () => {
    const { status, body } = await fleet.admin.request<PrepullsJson>('prepulls')
    return status === 200 && body.images.prepulled.some(image => image.digest === digest)
  }
  await eventually('the image is prepulled', isThere, slowLimitMs)
  return { fleet, admin, folder, digest, ada: fleet.as('ada') }
}

const env = {
  FROM_HUB: 'of the request',
  BOTH: 'of the request',
  MEM_LIMIT: 'of the request',
  HUB_TOKEN: 'hunter2-of-the-hub',
}

/** Makes a lab; returns the text of its events. */
async function makeLab(ada: Client): Promise<string> {
  expect((await ada.create(defaultOptions, { env })).status).toBe(303)
  const { outcome, events } = await ada.follow()
  const texts = events.map(({ data }) => data).join('\n')
  expect(outcome, texts).toBe('complete')
  return texts
}

async function removeLab(fleet: Fleet, ada: Client): Promise<void> {
  expect((await fleet.admin.delete(ada.username)).status).toBe(202)
  expect((await ada.follow()).outcome).toBe('complete')
}

/** Runs a command in the lab; returns its output. */
type Inside = (...command: string[]) => Promise<string>

const insideOf =
  (fleet: Fleet): Inside =>
  async (...command) =>
    (await kubectl(['exec', '-n', fleet.namespace('ada'), 'nb-ada', '-c', 'lab', '--', ...command])).trimEnd()

async function expectIdentity(inside: Inside): Promise<void> {
  expect(await inside('id')).toBe(
    `uid=${user.uid}(ada) gid=${user.gid}(ada) groups=${user.gid}(ada),4900001(observers)`,
  )
  expect((await inside('getent', 'passwd')).split('\n')).toEqual([
    'root:x:0:0:root:/root:/bin/bash',
    'vera:x:77:77::/home/vera:/bin/sh',
    `ada:x:${user.uid}:${user.gid}::${home}:/bin/bash`,
  ])
  expect((await inside('getent', 'group')).split('\n')).toEqual([
    'root:x:0:',
    'vera:x:77:',
    `ada:x:${user.gid}:`,
    'observers:x:4900001:ada',
  ])
}

async function expectEnvironment(inside: Inside, digest: string): Promise<void> {
  const lines = (await inside('env')).split('\n')
  const seen = Object.fromEntries(lines.map(line => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)]))
  expect(seen).toMatchObject({
    HOME: home,
    FROM_HUB: 'of the request',
    BOTH: 'of the configuration',
    MEM_LIMIT: String(2 * 2 ** 30),
    MEM_GUARANTEE: String(2 ** 29),
    CPU_LIMIT: '1',
    CPU_GUARANTEE: '0.25',
    IMAGE_DIGEST: digest,
    IMAGE_DESCRIPTION: expect.stringMatching(/^Recommended/),
    HUB_TOKEN: 'hunter2-of-the-hub',
    SITE_PASSWORD: 'hunter2-of-the-site',
  })
  // Variables of provisioning are not for the lab.
  expect(seen).not.toHaveProperty('GREETING')
}

/** Checks the mounts: path, whether writable, and size if in memory. */
async function expectMounts(inside: Inside): Promise<void> {
  const lines = (await inside('cat', '/proc/self/mounts')).split('\n').map(line => line.split(' '))
  const mounts = new Map(
    lines.map(([, path = '', type, options = '']) => [path, { type, options: options.split(',') }]),
  )
  const access = [...mounts].map(([path, { options }]) => [path, options[0]])
  expect(Object.fromEntries(access)).toMatchObject({
    '/home': 'rw',
    '/project': 'ro',
    '/scratch': 'rw',
    '/usr/share/site': 'ro',
    '/etc/motd.d': 'ro',
    '/claim': 'rw',
    '/tmp': 'rw',
    '/etc/passwd': 'ro',
    '/etc/group': 'ro',
    [secretsPath]: 'ro',
  })
  expect(mounts.get(secretsPath)?.type).toBe('tmpfs')
  for (const [path, mebibytes] of Object.entries({ '/scratch': 16, '/tmp': 32 })) {
    const options = expect.arrayContaining([`size=${mebibytes * 1024}k`])
    expect(mounts.get(path), path).toEqual({ type: 'tmpfs', options })
  }
  const files = { '/project/plan': 'plan', '/usr/share/site/read.me': 'welcome', '/etc/motd.d/motd': /Welcome/ }
  for (const [path, text] of Object.entries(files)) expect(await inside('cat', path)).toMatch(text)
}

async function expectSecrets(inside: Inside, token: string): Promise<void> {
  const files = ['butler', 'token'].map(name => `${secretsPath}/${name}`)
  const modes = await inside('stat', '-L', '-c', '%n %a %u:%g', ...files)
  // Owned by root and by the group that only the user has.
  expect(modes.split('\n')).toEqual(files.map(file => `${file} 440 0:${user.gid}`))
  expect((await inside('ls', secretsPath)).split('\n')).toEqual(['butler', 'token'])
  expect(await inside('cat', ...files)).toBe(`hunter2-of-the-butler\n${token}`)
  await expect(inside('ls', '/var/run/secrets')).rejects.toThrow(/No such file/)
}

/** Checks the confinement of the lab's process. */
async function expectConfinement(inside: Inside): Promise<void> {
  const status = await inside('cat', '/proc/1/status')
  const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]
  for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) expect(field(set), set).toBe('0'.repeat(16))
  expect([field('NoNewPrivs'), field('Seccomp')]).toEqual(['1', '2'])
  expect(field('Uid')).toBe(Array(4).fill(user.uid).join('\t'))
  for (const path of [home, '/scratch', '/tmp', '/claim']) await inside('touch', `${path}/written`)
  for (const path of ['/project', '/usr/share/site', '/etc/motd.d', secretsPath]) {
    await expect(inside('touch', `${path}/written`), path).rejects.toThrow(/Read-only file system/)
  }
  for (const path of ['/etc/passwd', '/etc/group', '/project/plan']) {
    await expect(inside('sh', '-c', `echo x >> ${path}`), path).rejects.toThrow(/Read-only|Permission denied/)
  }
}

/** Checks the objects in the API server. */
async function expectObjects({ world }: Fleet): Promise<void> {
  const { metadata, spec, status } = await world.podOf('ada')
  expect(metadata.annotations).toMatchObject({ 'example.org/cost-centre': 'science' })
  expect(spec.nodeSelector).toEqual({ 'kubernetes.io/hostname': nodeName })
  expect(spec.containers[0]).not.toHaveProperty('env')
  expect(status.initContainerStatuses[0].state.terminated).toMatchObject({ exitCode: 0 })
  const quota = (await world.objectsOf('ada')).find(({ kind }) => kind === 'ResourceQuota')
  const hard = {
    ...{ 'limits.cpu': '2', 'limits.memory': '4Gi', 'requests.cpu': '2', 'requests.memory': '4Gi' },
    ...{ 'limits.ephemeral-storage': '20Gi', 'requests.ephemeral-storage': '20Gi' },
  }
  expect(quota?.status).toMatchObject({
    hard,
    used: {
      ...{ 'limits.cpu': '1', 'limits.memory': '2Gi', 'requests.cpu': '250m', 'requests.memory': '512Mi' },
      ...{ 'limits.ephemeral-storage': '20Gi', 'requests.ephemeral-storage': '0' },
    },
  })
}

test('a lab with everything has what was configured inside, and leaves nothing behind', async context => {
  const { fleet, admin, folder, digest, ada } = await setTheScene(context)
  const { world } = fleet
  expect(await makeLab(ada)).not.toMatch(/Pulling image/)
  const inside = insideOf(fleet)
  await expectIdentity(inside)
  await expectEnvironment(inside, digest)
  await expectMounts(inside)
  await expectSecrets(inside, ada.token)
  await expectConfinement(inside)
  await expectObjects(fleet)

  // The second lab has the data that the first one got and wrote, and is not provisioned again.
  await removeLab(fleet, ada)
  const unclaimed = { spec: { claimRef: null } }
  expect((await admin.request('PATCH', `${volumesPath}/${names.claim}`, unclaimed)).status).toBe(200)
  expect(await makeLab(ada)).not.toMatch(/Pulling image/)
  expect((await world.podOf('ada')).spec).not.toHaveProperty('initContainers')
  expect(await inside('cat', `${home}/prepared`)).toBe('hello ada')
  await inside('ls', `${home}/written`, '/claim/written')
  await expect(inside('ls', '/scratch/written')).rejects.toThrow(/No such file/)

  await removeLab(fleet, ada)
  await eventually('nothing is left', async () => (await world.leftOf('ada')).length === 0)
  expect(readFileSync(join(folder, 'home/a/ada/prepared'), 'utf8')).toBe('hello ada\n')
  expect(statSync(join(folder, 'home/a/ada/written')).uid).toBe(user.uid)
  const sets = await admin.list(
    `/apis/apps/v1/namespaces/${namespace}/daemonsets`,
    `${prepullLabel}=${fleet.installation}`,
  )
  expect(sets).toEqual([])
}, 240_000)
