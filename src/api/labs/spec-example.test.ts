/** The example of SQR-066, "POST …/create", from its bytes to the objects of the lab. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { api, detailOf } from '../../../test/kit/api/scripted-api.ts'
import { podSpecIn, rra } from '../../../test/kit/labs/plan.ts'
import type { LabPlan } from '../../base/domain.ts'
import { configSchema } from '../../config/schema.ts'
import { Images, nothingPrepulled } from '../../images/service.ts'
import { chooseLab } from '../../labs/choose.ts'
import { renderLab } from '../../labs/render.ts'
import { noSources } from '../../labs/sources.ts'
import type { LabService } from '../../ops/labs/service.ts'

const example = `{
    "options": {
        "enable_debug": ["true"],
        "image_list": ["sciplat/sciplat-lab:w_2022_37"],
        "reset_user_env": ["true"],
        "size": ["large"]
    },
    "env": {
        "JUPYTERHUB_API_URL": "http://hub.nublado2:8081/nb/hub/api"
    }
}
`

const page = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8')
const fitting = parse(/^```yaml\n(images:.*?)^```$/ms.exec(page)![1]!) as object
/** The first configuration of the same specification. */
const ofTheSpecification = {
  images: {
    registry: 'registry.hub.docker.com',
    docker: { repository: 'lsstsqre/sciplat-lab' },
    recommendedTag: 'recommended',
    ...{ numReleases: 1, numWeeklies: 2, numDailies: 3 },
  },
}
const digest = `sha256:${'37'.repeat(32)}`

/** Posts the example to an API that chooses and renders labs like acceptance, with a registry that has the tag. */
async function post(changes: object) {
  const config = configSchema.parse(changes)
  const plans: LabPlan[] = []
  const images = new Images({
    images: config.images,
    catalogues: { known: null, read: async () => null, recent: async () => null },
    digests: { look: async tag => (tag === 'w_2022_37' ? digest : 'missing') },
    prepulls: nothingPrepulled,
  })
  const create: LabService['create'] = async (caller, request) => {
    const choice = chooseLab(config.lab, caller, request.options)
    const image = await images.resolve(request.options, caller)
    plans.push(renderLab({ config, identity: caller, request, choice, image, sources: noSources }).plan)
    return undefined
  }
  const call = api({ create }, { config, identity: { identify: async () => rra } })
  const headers = { 'Content-Type': 'application/json' }
  const response = await call('POST', 'labs/rra/create', 'rra', { body: example, headers })
  return { response, plans }
}

it('POST create of the specification makes its lab with the configuration of docs/api.md', async () => {
  const { response, plans } = await post(fitting)
  expect([response.status, plans.length]).toEqual([303, 1])
  const [container] = podSpecIn(plans[0]!).containers as { image: string; resources: object }[]
  expect(container!.image).toBe(`registry.hub.docker.com/sciplat/sciplat-lab:w_2022_37@${digest}`)
  expect(container!.resources).toMatchObject({ limits: { cpu: expect.anything(), memory: expect.anything() } })
  const env = plans[0]!.objects.find(({ metadata }) => metadata.name === 'nb-rra-env')
  expect(env).toMatchObject({
    data: {
      JUPYTERHUB_API_URL: 'http://hub.nublado2:8081/nb/hub/api',
      ...{ DEBUG: 'TRUE', RESET_USER_ENV: 'TRUE', IMAGE_DIGEST: digest },
    },
  })
})

it('POST create of the specification is 422, with the option, when the repository is another one', async () => {
  const { response, plans } = await post(ofTheSpecification)
  expect([response.status, plans]).toEqual([422, []])
  expect(await detailOf(response)).toMatchObject({
    msg: 'Only images of lsstsqre/sciplat-lab can be chosen',
    loc: ['body', 'options', 'image_list'],
  })
})
