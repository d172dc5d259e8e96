/** Hides passwords in URLs, also in parameters and percent-encoded: `postgres://desk:secret@host` → `postgres://desk:…@host`. */
export function withoutPasswords(text: string): string {
  return text
    .replace(/(:\/\/[^\s:/@]*):[^\s/]*@(?=[^\s@/]+)/g, '$1:…@')
    .replace(/(%3A%2F%2F(?:(?!%3A|%40)\S)*)%3A(?:(?!%40)\S)+%40/gi, '$1%3A…%40')
    .replace(/([?&](?:password|pass|pwd|sslpassword)=)[^\s&#]+/gi, '$1…')
}
