/** Only tests load this before the program: it adds the toy kind to a replica that knows the address of the world of toys. */
import { Slots } from '../../../src/base/slots.ts'
import { joinKind } from '../../../src/run/kind.ts'
import { addKind } from '../../../src/run/kinds.ts'
import { clientOf } from './client.ts'
import { toy, worldVariable } from './context.ts'
import { doorOf } from './door.ts'
import { toyKind } from './kind.ts'

const replica = process.env.SKYLAB_REPLICA ?? ''
const places = 64

const world = process.env[worldVariable]
if (world !== undefined) {
  addKind({
    name: toy,
    make: (basics, { store }) => {
      const kind = toyKind(clientOf(world, replica))
      const parts = joinKind(basics, store, { kind, access: store.accessOf(kind), room: new Slots(places) })
      const door = doorOf({ parts, sealer: store.sealer, log: basics.log, world, replica })
      return { ...parts, stages: [{ when: 'permitted', parts: [door] }] }
    },
  })
}
