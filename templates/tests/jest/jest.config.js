export default {
  testMatch: ['**/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  // The types are checked by `npm run types`.
  transform: { '\\.ts$': ['ts-jest', { useESM: true, diagnostics: false }] },
}
