/** The machine has heard a higher epoch than ours, and proved by its secret that it is the machine. */
export class EpochPassed extends Error {
  override readonly name = 'EpochPassed'
  readonly highest: number

  constructor(highest: number) {
    super('the machine has heard a higher epoch')
    this.highest = highest
  }
}
