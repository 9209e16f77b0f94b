/** For tests: an API server that keeps objects of every kind, and answers as a real one does when one exists already. */
import type { KubeObject } from '../../base/domain.ts'
import { KubeError } from '../../kube/client.ts'
import type { ClusterClient } from '../cluster.ts'

interface Named {
  readonly kind: string
  readonly name: string
}

const keyOf = ({ kind, name }: Named) => `${kind} ${name}`

export class ObjectServer {
  readonly #objects = new Map<string, KubeObject>()
  #count = 0
  /** Every request, such as `create Secret nb-ada`. */
  readonly requests: string[] = []
  /** Runs before a creation takes effect: a test may hold it, or throw. */
  onCreate: (object: KubeObject) => void | Promise<void> = () => {}

  get(kind: string, name: string): KubeObject | undefined {
    return this.#objects.get(keyOf({ kind, name }))
  }

  put(object: KubeObject): KubeObject {
    const { uid = `uid-${++this.#count}` } = object.metadata
    const kept = { ...object, metadata: { ...object.metadata, uid } }
    this.#objects.set(keyOf({ kind: object.kind, name: object.metadata.name }), kept)
    return kept
  }

  readonly kube = {
    create: async (object: KubeObject) => {
      const { name } = object.metadata
      this.requests.push(`create ${object.kind} ${name}`)
      await this.onCreate(object)
      if (this.get(object.kind, name)) throw new KubeError(409, 'AlreadyExists', `${name} exists`)
      return this.put(object)
    },
    get: async ({ kind, name }: Named) => {
      this.requests.push(`get ${kind} ${name}`)
      return this.get(kind, name) ?? null
    },
    delete: async ({ kind, name, uid }: Named & { uid: string }) => {
      this.requests.push(`delete ${kind} ${name}`)
      const standing = this.get(kind, name)
      if (!standing) return 'gone' as const
      if (standing.metadata.uid !== uid) return 'other' as const
      this.#objects.delete(keyOf({ kind, name }))
      return 'accepted' as const
    },
    account: async () => 'system:serviceaccount:skylab:skylab',
    list: async (_: string, kind: string, project: (object: KubeObject) => unknown) => {
      this.requests.push(`list ${kind}`)
      return [...this.#objects.values()].filter(object => object.kind === kind).map(project)
    },
    settled: async () => {},
  } as unknown as ClusterClient
}
