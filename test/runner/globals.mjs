/** `@jest/globals` of the suite that is loaded. */
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } =
  globalThis[Symbol.for('filigree.test-globals')]
