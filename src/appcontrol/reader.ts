/** Which apps somebody may see. */

import { groupNameOf } from '../apps/spec.ts'
import { unavailable } from '../base/errors.ts'
import type { Fact } from '../reconcile/types.ts'
import { noApp, notMember } from './problems.ts'
import { type AppSights, type Asker, holderOf, type IsMember } from './sights.ts'

export interface ReaderOptions {
  readonly sights: AppSights
  readonly isMember: IsMember
  /** Whether the watches show the cluster. */
  readonly isSynced: () => boolean
}

/** Every method throws {ApiError} 503 until the watches show the cluster. */
export class AppReader {
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** @throws {ApiError} 403, 404 */
  app(id: string, asker: Asker): Fact {
    this.requireSync()
    const app = this.#holder(id, asker)
    if (!app) throw noApp()
    if (this.#isShown(app, asker)) return app
    throw notMember(groupNameOf(app))
  }

  /** Those that somebody sees, by id, after that of a cursor. */
  *visible(asker: Asker, cursor = ''): Generator<Fact, void, undefined> {
    this.requireSync()
    const { sights } = this.#options
    const ids = [...new Set([...sights.apps.values()].map(({ ref }) => ref.name))].filter(id => id > cursor).sort()
    for (const id of ids) {
      const app = this.#holder(id, asker)
      if (app && this.#isShown(app, asker)) yield app
    }
  }

  requireSync(): void {
    if (!this.#options.isSynced()) throw unavailable('the watches do not show the cluster yet')
  }

  /**
   * An app of no group takes its id from nobody, and only administrators see it: else a user with any namespace could decide what
   * an id shows.
   */
  #holder(id: string, { audience }: Asker): Fact | undefined {
    const { sights } = this.#options
    const named = [...sights.named(id)]
    const ofGroups = named.filter(app => sights.groupOf(app) !== undefined)
    return holderOf(ofGroups.length > 0 || audience === 'user' ? ofGroups : named)
  }

  #isShown(app: Fact, { audience, caller }: Asker): boolean {
    if (audience === 'admin') return true
    const group = this.#options.sights.groupOf(app)
    return group !== undefined && this.#options.isMember(caller, group)
  }
}
