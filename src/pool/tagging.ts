/** Reads and makes the tags of machines. Anybody with the account may write them. Pure. */
import type { Instance } from '../clouds/driver.ts'
import type { OfferedType } from '../dispatch/configured.ts'
import { defaultTenant, type MachineBrief } from '../dispatch/container.ts'
import { isMarkedSecret, type TagNames } from '../dispatch/tags.ts'
import { machineOp } from '../store/dispatch/forms.ts'
import type { StrayMachine } from '../store/dispatch/machines.ts'
import type { Payers } from './payers.ts'

export type Tags = Readonly<Record<string, string>>

export interface TaggingOptions {
  readonly names: TagNames
  /** The present id of our set, and those of earlier tokens. */
  readonly sets: readonly string[]
  readonly types: ReadonlyMap<string, OfferedType>
  /** `TagSecret`. With `hmac`, a secret that the tag itself has proves nothing: its writer knows it. */
  readonly secrets?: 'plain' | 'hmac'
  /** Undefined: no tag says who pays. */
  readonly payers?: Payers | undefined
}

/** The facts that a record needs of a machine that only the cloud knows. */
export type Stray = Omit<StrayMachine, 'timeoutMs' | 'sealPlan'>

const behaviors = ['run', 'hold', 'drain'] as const

export class Tagging {
  readonly #options: TaggingOptions

  constructor(options: TaggingOptions) {
    this.#options = options
  }

  /** Only such a machine is ever touched, whatever else it has in common with ours. */
  isOurs(tags: Tags): boolean {
    const set = own(tags, this.#options.names.instanceSetId)
    return set !== '' && this.#options.sets.includes(set)
  }

  /** The name of the record that asked for it; '' if the tag is not a name of one. */
  intentOf(tags: Tags): string {
    const name = own(tags, this.#options.names.intent)
    return machineOp(name) === undefined ? '' : name
  }

  strayOf({ id, tags, address = '', providerType }: Instance): Stray {
    const { names, types, payers } = this.#options
    const type = own(tags, names.instanceType) || this.#typeOf(providerType)
    const behavior = behaviors.find(each => each === own(tags, names.idleBehavior))
    return {
      ...{ instance: id, address, providerType, type, intent: this.intentOf(tags) },
      ...{
        price: types.get(type)?.price ?? 0,
        tenant: payers?.tenantOf(tags) ?? defaultTenant,
        hostKey: own(tags, names.hostKey),
      },
      // A machine with an unknown behavior is not ended for it, and gets nothing new.
      idleBehavior: behavior ?? (own(tags, names.idleBehavior) === '' ? 'run' : 'hold'),
    }
  }

  /** The plan of a machine that is adopted: how it proves itself. Without the tag nothing proves it. */
  planOf(tags: Tags): { readonly secret: string } | { readonly digest: string } {
    const secret = own(tags, this.#options.names.instanceSecret)
    if (isMarkedSecret(secret)) return { digest: secret }
    return secret === '' || this.#options.secrets === 'hmac' ? { digest: '' } : { secret }
  }

  /** Reads who pays, for what follows. @throws {RetryLater} when Redis does not answer */
  async refresh(): Promise<void> {
    await this.#options.payers?.refresh()
  }

  /** Tags that differ from the record. That of our set is not among them: removing it takes the machine from us. */
  missingOf(tags: Tags, brief: MachineBrief): Tags {
    const { names, payers } = this.#options
    const wanted = {
      [names.intent]: brief.name,
      [names.instanceType]: brief.type,
      [names.idleBehavior]: brief.idleBehavior,
      ...payers?.tagsOf(brief.tenant),
    }
    return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => own(tags, name) !== value))
  }

  #typeOf(providerType: string): string {
    return [...this.#options.types.values()].find(each => each.providerType === providerType)?.name ?? providerType
  }
}

const own = (tags: Tags, name: string): string => (Object.hasOwn(tags, name) ? (tags[name] ?? '') : '')
