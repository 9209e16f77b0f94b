/** Records of machines in memory, by the rules of the store's scripts. */
import type { MachineBrief } from '../../dispatch/container.ts'
import type { Adopted, StrayMachine } from '../../store/dispatch/machines.ts'
import { briefOf } from './reading.ts'

export class FakeMachines {
  readonly briefs = new Map<string, MachineBrief>()
  /** Names whose operation has ended. */
  readonly tombstones = new Set<string>()
  readonly asked: string[] = []
  /** Before each reading of one machine. */
  onFind: () => void = () => {}
  isMarked = true
  isCompared = false
  #drawn = 0

  put(name: string, over: Partial<MachineBrief> = {}): void {
    this.briefs.set(name, briefOf(name, over))
  }

  /** Gone by proof. */
  bury(name: string): void {
    this.briefs.delete(name)
    this.tombstones.add(name)
  }

  list = async (): Promise<MachineBrief[]> => [...this.briefs.values()]

  find = async (id: string): Promise<MachineBrief | undefined> => {
    this.onFind()
    return [...this.briefs.values()].find(({ name, instance }) => name === id || instance === id)
  }

  kill = async (id: string, reason: string) => {
    const machine = await this.find(id)
    if (!machine) return { answer: 'none' as const }
    const ending = machine.ending || reason
    this.briefs.set(machine.name, { ...machine, ending, state: 'shutdown' })
    return { answer: 'set' as const, machine }
  }

  adopt = async (stray: StrayMachine): Promise<Adopted> => {
    if (!this.isMarked) return { answer: 'unmarked' }
    const { instance, intent, timeoutMs: _, sealPlan, hostKey: __, ...of } = stray
    const known = [...this.briefs.values()].find(each => each.instance === instance)
    if (known) return { answer: 'known', name: known.name }
    const ofIntent = this.briefs.get(intent)
    if (ofIntent?.instance === '' && ofIntent.ending === '') return { answer: 'known', name: intent }
    const late = this.tombstones.has(intent) || ofIntent?.instance === ''
    this.#drawn += 1
    const name = intent === '' || ofIntent || late ? `spare${this.#drawn}` : intent
    this.asked.push(sealPlan('key', `instance:${name}`, 'nonce'))
    const ending = late ? 'its intent is over' : ''
    this.put(name, { ...of, instance, ending, state: late ? 'shutdown' : 'unknown', probedMs: 0 })
    return { answer: late ? 'late' : 'adopted', name }
  }

  forget = async (): Promise<number> => 0
  doubt = async (): Promise<boolean> => this.isMarked
  compared = async (): Promise<boolean> => this.isCompared
}
