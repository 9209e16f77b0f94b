/** Labs with everything that KWOK's nodes allow: the configuration, and the objects that it needs in the cluster. */
import { randomBytes } from 'node:crypto'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import type { LabSources } from '../../../src/labs/sources.ts'
import { AdminKube } from '../cluster/kube.ts'
import { testBed } from '../testbed.ts'
import type { Overrides } from './users.ts'

/** The controller's own namespace, where it may read sources. */
const namespace = 'skylab'
const label = 'skylab-test/full-lab'
const volumes = '/api/v1/persistentvolumes'
/** Volumes made at once: there are hundreds. */
const lanes = 8
const base64 = (text: string) => Buffer.from(text).toString('base64')

/** More than any test uses. */
export const quota = { cpu: 1_000_000, memory: 1_000_000 }

/** @param name of the sources and of the storage class */
export function fullLabConfig(name: string) {
  const mount = (volume: string) => ({ volume, path: `/volumes/${volume}` })
  return {
    secrets: [
      { name: `${name}-files`, key: 'db', as: 'database' },
      { name: `${name}-pull`, key: '.dockerconfigjson', pull: true },
    ],
    volumes: [
      { name: 'docs', configMap: { name: `${name}-docs` } },
      { name: 'motd', files: { motd: 'Welcome.\n' } },
      {
        name: 'scratch',
        persistentVolumeClaim: { storageClassName: name, accessModes: ['ReadWriteOnce'], size: '1Gi' },
      },
      { name: 'cache', emptyDir: { medium: 'memory', sizeLimit: '64Mi' } },
      { name: 'home', nfs: { server: '192.0.2.10', path: '/export/home' } },
      { name: 'software', hostPath: { path: '/opt/software' } },
    ],
    mounts: [
      ...['docs', 'motd', 'scratch', 'cache', 'software'].map(mount),
      { volume: 'home', path: '/home', readOnly: false },
    ],
    provisioning: { image: 'registry.example.org/prepare:1', env: { QUOTA: '20G' } },
  } satisfies ConfigInput['lab']
}

/** The names under which acceptance reads them. */
export const fullLabSources: LabSources = {
  secrets: { database: base64('x') },
  pullSecret: base64('{}'),
  configMaps: { docs: { data: { 'read.me': 'x' } } },
  provisioned: false,
}

/** All tests share the namespace, so names are random. */
export class FullLab {
  readonly name = `full-${randomBytes(4).toString('hex')}`
  readonly namespace = namespace
  /** Properties of the fleet's users. */
  readonly user: Overrides = { quota }
  /** Texts in the Secrets. */
  readonly secrets = { file: randomBytes(12).toString('hex'), password: randomBytes(12).toString('hex') }
  readonly #kube = new AdminKube(testBed().kubeconfig)

  /** Credentials in the pull secret. */
  get credentials(): string {
    return base64(`robot:${this.secrets.password}`)
  }

  get lab() {
    return fullLabConfig(this.name)
  }

  /** @param claims number of labs, one after another: a volume serves one claim */
  async make(claims: number): Promise<void> {
    const auths = { 'registry.example.org': { auth: this.credentials } }
    await Promise.all([
      this.#source('Secret', 'files', { stringData: { db: this.secrets.file } }),
      this.#source('Secret', 'pull', { stringData: { '.dockerconfigjson': JSON.stringify({ auths }) } }),
      this.#source('ConfigMap', 'docs', { data: { 'read.me': 'Read this.' } }),
    ])
    const numbers = Array.from({ length: claims }, (_, index) => index)
    const lane = async () => {
      for (let number = numbers.pop(); number !== undefined; number = numbers.pop()) await this.#volume(number)
    }
    await Promise.all(Array.from({ length: lanes }, lane))
  }

  async remove(): Promise<void> {
    await Promise.all([
      ...['files', 'pull'].map(what => this.#kube.delete('Secret', `${this.name}-${what}`, namespace)),
      this.#kube.delete('ConfigMap', `${this.name}-docs`, namespace),
      this.#kube.request('DELETE', `${volumes}?labelSelector=${encodeURIComponent(`${label}=${this.name}`)}`),
    ])
    this.#kube.close()
  }

  async #source(kind: string, what: string, fields: object): Promise<void> {
    await this.#kube.create({
      apiVersion: 'v1',
      kind,
      metadata: { name: `${this.name}-${what}`, namespace },
      ...fields,
    })
  }

  async #volume(number: number): Promise<void> {
    const { status } = await this.#kube.request('POST', volumes, {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `${this.name}-${number}`, labels: { [label]: this.name } },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: this.name,
        persistentVolumeReclaimPolicy: 'Retain',
        hostPath: { path: '/volumes' },
      },
    })
    if (status !== 201) throw new Error(`a volume was refused: ${status}`)
  }
}
