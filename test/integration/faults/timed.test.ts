/** Faults after which a take-over is timed: their replicas mostly wait, so beside each other they are not late. */
import './worst.cases.ts'
import './spin.cases.ts'
import './letting-go.cases.ts'
