/** A process with one real machine, whose logs go to the folder in its argument. It prints its pid and its network card. */
import { Machines } from '../../../dev/cloud/machines/machines.ts'
import { vmImage } from '../../../dev/cloud/vm/image.ts'
import { Vm } from '../../../dev/cloud/vm/vm.ts'
import { createProgress } from '../../../dev/process/progress.ts'

const image = await vmImage(createProgress())
const machines = await Machines.of({ stateDir: process.argv[2]! }, spec => new Vm(spec, image))
const address = machines.network.cidr.replace(/\d+\/\d+$/, '9')
const machine = machines.boot({ id: 'i-lone', address, userData: '' })
await machine.booted
process.stdout.write(`${machine.pid} ${machine.card}\n`)
