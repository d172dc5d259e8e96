/** Where the decorators of a root field stand among its `extensions`. */
export const standsExtension = 'filigreeStands'
