/**
 * Attacks that time take-overs: their replicas mostly wait, so they do not delay each other. CPU-heavy attacks run
 * before and after them.
 */
import './full.attack.ts'
import './worst.attack.ts'
import './term.attack.ts'
import './spin.attack.ts'
import './letting-go.attack.ts'
