/** The database of the tests: in memory. */
import { inMemory } from 'filigree'

export const database = inMemory
