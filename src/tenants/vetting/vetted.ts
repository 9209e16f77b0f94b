/** The states that were vetted for the versions of Kubernetes that this program was tried on. */
import v1_35 from './1.35.json' with { type: 'json' }
import v1_36 from './1.36.json' with { type: 'json' }
import { type VettedState, vettedState } from './state.ts'

const shipped: readonly { readonly kubernetes: string }[] = [v1_35, v1_36]

/** @param own states of the operator, which replace those of their versions */
export const vettedFor =
  (own: readonly VettedState[]) =>
  (version: string): VettedState | undefined => {
    const isOfThis = ({ kubernetes }: { readonly kubernetes: string }) => kubernetes === version
    const found = shipped.find(isOfThis)
    return own.find(isOfThis) ?? (found && vettedState.parse(found))
  }
