/**
 * tenants N9: with a token of the controller's account, writes that RBAC allows end at the policy. `policies.test.ts` takes each
 * rule away. In full size only: it has a cluster of its own, whose tenants no replica serves.
 */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { refused } from '../../tenants/account-refused.cases.ts'
import { startWorld } from '../../tenants/world.ts'
import { isWhole } from '../points.ts'

async function stolenToken(trial: Trial): Promise<void> {
  const world = await startWorld()
  trial.context.onTestFinished(() => world.site.close())
  const thief = await world.site.thief()
  trial.context.onTestFinished(() => thief.close())
  const words = new Set<string>()
  for (const { title, ask, policy, words: rule } of refused) {
    trial.injected()
    const { method, path, body } = ask(world)
    const { status, body: answer } = await thief.request(method, path, body)
    // RBAC is asked first, so a policy refuses only what the account may do.
    if (status === 403 && answer.message.includes(`ValidatingAdmissionPolicy '${policy}'`)) trial.landed()
    else trial.violation(`${title}: ${status} ${answer?.message}`)
    words.add(rule!)
  }
  trial.figure('rules', words.size)
}

if (isWhole) attack('tenants N9 writes with a stolen token', stolenToken)
