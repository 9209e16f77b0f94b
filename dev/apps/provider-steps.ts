/** Steps of the demo of apps at the OpenID provider: what it says of somebody holds for what is open too. */
import type { AppsContext } from './context.ts'
import type { Verdict } from './report.ts'
import { cutBy, mustBe } from './steps.ts'
import type { Visitor } from './visitor.ts'

/** The provider says another thing of her from now on: a gateway asks again by her refresh token. */
export async function leaveGroup({ provider }: AppsContext, visitor: Visitor): Promise<Verdict> {
  const asked = () => provider.grants.refresh_token ?? 0
  const before = asked()
  const seconds = await cutBy(visitor, async () => provider.leaves('ada'))
  mustBe('a refresh token that was used since', asked() > before, true)
  mustBe('her page', await visitor.open('orbits'), 403)
  provider.joins('ada')
  return {
    ...{ step: 'the provider takes ada out of the group', seconds },
    saw: 'her refresh token is used, the WebSocket is cut, and her page is 403',
  }
}
