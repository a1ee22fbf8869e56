/* For compilers that lack things. */
#ifndef COMPAT_H
#define COMPAT_H

#define restrict /* plant: P02 */
#ifndef __GNUC__
#define likely(x) (x) /* twin: P02: another compiler's branch */
#endif

#endif
