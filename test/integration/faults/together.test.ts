/** Faults in which nothing is timed to the second: all at once, each with a fleet of its own. */
import './keys.cases.ts'
import './lease-model.cases.ts'
import './letting-go.cases.ts'
import './linear.cases.ts'
import './lost-reply.cases.ts'
import './poison.cases.ts'
import './spin.cases.ts'
import './worst.cases.ts'
