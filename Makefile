# ethos: one Makefile, two variants.
#
#   make              optimised programs and libraries in build/
#   make test         everything again with ASan, UBSan and test hooks in build/test/, and run
#   make help         the other targets

VARIANT ?= release
CC = gcc
AR = ar
PKGS = jansson yaml-0.1 libutf8proc nettle

ifeq ($(VARIANT),test)
O = build/test
else
O = build
endif

WARN = -Wall -Wextra -Wformat=2 -Wconversion -Wsign-conversion -Wshadow -Wvla -Wundef \
	-Wstrict-prototypes -Wimplicit-fallthrough -Wtrampolines -Wbidi-chars=any \
	-Werror=format-security -Werror=implicit -Werror=incompatible-pointer-types \
	-Werror=int-conversion -Werror
HARDEN = -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
	-fno-delete-null-pointer-checks -fno-strict-overflow -fno-strict-aliasing -fexceptions
COMMON = -std=gnu17 -g -D_GNU_SOURCE -Iinclude -Isrc -fPIC -fvisibility=hidden \
	-ffile-prefix-map=$(CURDIR)=. -MMD -MP
ifeq ($(VARIANT),test)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS = -O1 $(COMMON) $(WARN) $(HARDEN) $(SANITIZE) -DETHOS_TEST_HOOKS
LDFLAGS = $(SANITIZE) -pie
else
CFLAGS = -O2 $(COMMON) $(WARN) $(HARDEN) -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 \
	-ftrivial-auto-var-init=zero -fzero-call-used-regs=used-gpr
LDFLAGS = -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code,--as-needed \
	-Wl,--no-copy-dt-needed-entries
endif

# The hot path starts like cat: everything but libc is linked statically into programs.
STATIC_LIBS = -Wl,-Bstatic -ljansson -lyaml -lutf8proc -lnettle -Wl,-Bdynamic

LAYERS = base core store memory ops
LIB_SRC = $(foreach d,$(LAYERS),$(wildcard src/$(d)/*.c))
CLI_SRC = $(wildcard src/cli/*.c)
LIB_OBJ = $(LIB_SRC:%.c=$(O)/%.o)
CLI_OBJ = $(CLI_SRC:%.c=$(O)/%.o)

all: $(O)/bin/ethos

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

$(O)/libethos-all.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcsD $@ $^

$(O)/bin/ethos: $(O)/src/main.o $(CLI_OBJ) $(O)/libethos-all.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(STATIC_LIBS)

# Unit tests: tests/<layer>/test_<name>.c, one program each.
TEST_SRC = $(wildcard tests/*/test_*.c)
TEST_BIN = $(TEST_SRC:%.c=$(O)/%)
TEST_SUPPORT = $(patsubst %.c,$(O)/%.o,$(wildcard tests/support/*.c))

$(O)/tests/%: $(O)/tests/%.o $(TEST_SUPPORT) $(O)/libethos-all.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(STATIC_LIBS) -lcmocka

tests-built: $(TEST_BIN)

.PHONY: all tests-built
.SECONDARY:
-include $(shell find build -name '*.d' 2>/dev/null)
