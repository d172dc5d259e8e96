/** Takes the passwords out of addresses before they are shown. */

/** `postgres://desk:secret@host/desk` → `postgres://desk:…@host/desk`, also where it is written in a query's way. */
export function withoutPasswords(text: string): string {
  return text
    .replace(/(:\/\/[^\s:/@]*):[^\s/]*@(?=[^\s@/]+)/g, '$1:…@')
    .replace(/(%3A%2F%2F(?:(?!%3A|%40)\S)*)%3A(?:(?!%40)\S)+%40/gi, '$1%3A…%40')
    .replace(/([?&](?:password|pass|pwd|sslpassword)=)[^\s&#]+/gi, '$1…')
}
