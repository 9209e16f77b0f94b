/** How the memory of a gateway is collected. */
import { setFlagsFromString } from 'node:v8'

/** All of this file, for a process that carries requests. */
export function tuneHeap(): void {
  letHeapGrow()
  collectYoungAlone()
  beginYoung()
  keepCode()
}

/**
 * Lets the heap become four times what is alive before it is collected as a whole. V8 expects little growth, since nearly all of a
 * request is young. But it counts bodies too, which lie outside of the heap. So it collected the whole heap every 25 MB of
 * bodies: that cost more than to carry them, and made others wait. Most bodies are gone with the young objects around them.
 */
export function letHeapGrow(): void {
  // No options of `NODE_OPTIONS`. V8 reads them after each collection.
  setFlagsFromString('--heap-growing-percent=300')
  // V8 has a second bound, for bodies alone: some 64 MB, at which it collects the whole heap whatever the first one says. A long
  // body makes few young objects, so no collection of those came before it. By this option bodies count for the first bound only,
  // and young objects are collected each 128 MB of bodies.
  setFlagsFromString('--external-memory-accounted-in-global-limit')
}

/**
 * Has the main thread collect young objects by itself. It has one processor, and V8 gave the work to another thread: some 0.8 ms, which
 * the main thread waited for, and for as long as that one waited for a processor. Pauses of 10 ms came of it.
 */
export function collectYoungAlone(): void {
  setFlagsFromString('--no-parallel-scavenge')
}

/**
 * Has all objects of requests begin young. V8 learns which places of the code make objects that stay, and puts those of them into the
 * old heap at once. The logins and tables of hundreds of apps teach it so of places that requests pass too. Such an object dies
 * with its request, but is collected with the whole heap alone, and until then keeps all that it leads to. So nothing of a request
 * was freed young: with 500 apps the whole heap was collected each 1.2 s, with pauses of 16 to 43 ms.
 */
export function beginYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/**
 * Keeps compiled code through a quiet time. After 100 s without a collection V8 collects the whole heap for the memory, and then
 * forgets the shapes of objects of which none is alive: in a quiet time, those of requests. All code that was compiled for them went
 * with them: 213 functions, and for half a minute a request cost up to twice as much. The heap is collected then as before.
 */
export function keepCode(): void {
  setFlagsFromString('--no-memory-reducer-favors-memory')
}
