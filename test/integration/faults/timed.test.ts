/** Faults after which a take-over is timed: their replicas mostly wait, so beside each other they are not late. */
import './full.cases.ts'
import './worst.cases.ts'
import './term.cases.ts'
import './spin.cases.ts'
import './letting-go.cases.ts'
