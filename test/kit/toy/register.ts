/** Only tests load this before the program: it adds the toy kind to a replica that is told where the world of toys is. */

import { Slots } from '../../../src/base/slots.ts'
import { addKind, joinKind } from '../../../src/run/kinds.ts'
import { clientOf } from './client.ts'
import { toyKind } from './kind.ts'
import { toy, toyForm, worldVariable } from './shape.ts'

const replica = process.env.SKYLAB_REPLICA ?? ''
const places = 64
/** How long a creation, and a deletion, may take. */
const timesMs = { createMs: 120_000, deleteMs: 60_000 }

const url = process.env[worldVariable]
if (url !== undefined) {
  addKind({
    name: toy,
    make: (basics, store) =>
      joinKind(basics, store, {
        kind: toyKind(clientOf(url, replica)),
        form: toyForm,
        drawsEpochs: true,
        room: new Slots(places),
        times: timesMs,
      }),
  })
}
